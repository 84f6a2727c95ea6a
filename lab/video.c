/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Video congestion control (ACSM 5.2.1). A router that has to drop packets of video does better if it knows
 * to which kind of frame they belong, and for that it needs a few bits of state for each stream. Two
 * questions: how often does an approximate table decide wrongly (video_decisions.c), and what do the
 * policies do to a film (video_quality.c)?
 */
#include "lab/experiments.h"
#include "lab/video_parts.h"

static int run_video(struct lab *lab, struct page *page)
{
	int error = video_decisions(lab, page);

	return error ? error : video_quality(lab, page);
}

const struct experiment experiment_video = {
	.name = "video",
	.title = "Video: dropping with a few bits for each stream",
	.where = "ACSM 5.2.1",
	.shows = "Four drop policies run by the library's machines over some hundred thousand "
		 "streams: how often the table of the paper decides wrongly, and smaller and "
		 "better ones. Then the same policies on a film that ffmpeg encodes and decodes: "
		 "PSNR and SSIM against byte loss.",
	.interpretation =
		"A fingerprint match is taken for the stream's own, and a don't-know is dropped. Wrong drops "
		"are a share of the packets that should pass, missed drops of those that should be dropped.",
	.seconds = {11, 220, 700},
	.rounds = 2,
	.run = run_video,
};
