/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * router-traffic: sends what is measured at a router, and says what arrived.
 *
 *     router-traffic flood SENDER RECEIVER RATE SECONDS
 *     router-traffic video SENDER RECEIVER RATE CLIP FRAMES STREAMS SEED FLOWS
 *     router-traffic swarm SENDER RECEIVER SECONDS
 *
 * SENDER and RECEIVER are namespaces of `ip netns` with an address, as in "sender/10.77.1.1". RATE is in bits a second.
 * FRAMES: those of the clip, of which 12 are a group. FLOWS: transfers by TCP beside the video.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/router/flows.h"

enum { FRAMES_A_GROUP = 12 };

static void usage(void)
{
	fputs("usage: router-traffic flood SENDER RECEIVER RATE SECONDS\n"
	      "       router-traffic video SENDER RECEIVER RATE CLIP FRAMES STREAMS SEED FLOWS\n"
	      "       router-traffic swarm SENDER RECEIVER SECONDS\n",
	      stderr);
	exit(2);
}

static double number(const char *text, double low, double high)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= low && value <= high)) {
		fprintf(stderr, "router-traffic: '%s': not a number from %g to %g\n", text, low, high);
		exit(2);
	}
	return value;
}

static double rate_of(const char *text)
{
	return number(text, 1e3, 1e11);
}

/* "sender/10.77.1.1" is cut at its slash. */
static struct place place_of(char *text)
{
	char *slash = strchr(text, '/');

	if (!slash)
		usage();
	*slash = 0;
	return (struct place){text, slash + 1};
}

static void video(const struct road *road, double rate, char **argv)
{
	double frames = number(argv[1], 1, 1e6);
	unsigned flows = (unsigned)number(argv[4], 0, BULK_MOST);
	struct clip clip;
	struct bulk *bulk;
	int error = clip_read(&clip, argv[0]);

	errno = -error;
	if (error)
		net_fail("%s", argv[0]);
	bulk = bulk_begin(road, flows);
	send_video(road,
		   &(struct video_plan){.clip = &clip,
					.streams = (unsigned)number(argv[2], 1, STREAMS_MOST),
					.rate = rate,
					.groups = frames / FRAMES_A_GROUP,
					.seed = (uint64_t)number(argv[3], 1, 1e9)},
		   bulk);
	bulk_end(bulk);
	clip_free(&clip);
}

int main(int argc, char **argv)
{
	struct road road;

	if (argc < 5)
		usage();
	road = (struct road){place_of(argv[2]), place_of(argv[3])};
	if (!strcmp(argv[1], "flood") && argc == 6)
		send_flood(&road, rate_of(argv[4]), number(argv[5], 0.01, 3600));
	else if (!strcmp(argv[1], "video") && argc == 10)
		video(&road, rate_of(argv[4]), argv + 5);
	else if (!strcmp(argv[1], "swarm") && argc == 5)
		send_swarm(&road, number(argv[4], 0.1, 3600));
	else
		usage();
	return 0;
}
