/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/bare.h"

#include <pcap.h>

#include "bench/harness.h"

namespace bench
{

uint64_t read_bare(const char *path)
{
	char text[PCAP_ERRBUF_SIZE];
	pcap_t *p = pcap_open_offline(path, text);
	struct pcap_pkthdr *header;
	const u_char *bytes;
	uint64_t n = 0;

	if (!p)
		die("%s", text);
	while (pcap_next_ex(p, &header, &bytes) == 1)
		n++;
	pcap_close(p);
	return n;
}

} /* namespace bench */
