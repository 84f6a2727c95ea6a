/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters of a machine, which look nothing up. The functions by which libpcap asks for names are replaced here: they
 * count, and find nothing.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/ether.h>

#include <inkling/packet.h>

#include "tests/random.h"
#include "tests/test.h"

/* -------------------------------------------------------------- instead of the C library's */

static unsigned look_ups;

static int is_numeric(const char *host, const char *service)
{
	struct in6_addr address;

	return host ? inet_pton(AF_INET6, host, &address) == 1
		    : strspn(service, "0123456789") == strlen(service);
}

int getaddrinfo(const char *restrict host, const char *restrict service,
		const struct addrinfo *restrict hints, struct addrinfo **restrict found)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	if (!is_numeric(host, service)) {
		look_ups++;
		return EAI_NONAME;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	return real(host, service, hints, found);
}

int getnetbyname_r(const char *restrict name, struct netent *restrict net, char *restrict buffer, size_t size,
		   struct netent **restrict found, int *restrict error)
{
	look_ups++;
	*found = NULL;
	return 0;
}

int getprotobyname_r(const char *restrict name, struct protoent *restrict proto, char *restrict buffer,
		     size_t size, struct protoent **restrict found)
{
	look_ups++;
	*found = NULL;
	return 0;
}

int ether_hostton(const char *name, struct ether_addr *address)
{
	look_ups++;
	return -1;
}

/* ------------------------------------------------------------------------------- the tests */

static struct ink_why why;

/* `word`: what is refused, with its place. */
static const struct {
	const char *text, *word;
} names[] = {
	{"host example.com", "'example.com' (character 6)"},
	{"net loopback", "'loopback' (character 5)"},
	{"ether host router", "'router' (character 12)"},
	{"port http", "'http' (character 6)"},
	{"port 80 or https", "'https' (character 12)"},
	{"portrange ftp-ssh", "'ftp-ssh' (character 11)"},
	{"ip proto \\udp", "'\\udp' (character 10)"},
	{"ip6 protochain ospf", "'ospf' (character 16)"},
	{"src or dst HOST", "'HOST' (character 12)"},
	{"host 10.0.0.1x", "'10.0.0.1x' (character 6)"},
	{"host 10.0.0.1.5", "'10.0.0.1.5' (character 6)"},
	{"host 10.0.0.1\tor\nb", "'b' (character 18)"},
	{"host dead:beef", "'dead' (character 6)"},
	{"host 1-2", "'1-2' (character 6)"},
	{"host 1.1.1.1 and (portrange 1-2) and 3-4", "'3-4' (character 38)"},
	{"portrange 1-2 or host 1.1.1.1 or 3-4", "'3-4' (character 34)"},
	{"host(a)", "'a' (character 6)"},
	{"!host a", "'a' (character 7)"},
	{"not src a", "'a' (character 9)"},
};

TEST_THAT(names_are_refused_with_their_place)
{
	for (unsigned i = 0; i < COUNT(names); i++) {
		look_ups = 0;
		assert_int_equal(ink_filter_try(names[i].text, &why), -EINVAL);
		assert_int_equal(look_ups, 0);
		if (!strstr(why.text, names[i].word))
			fail_msg("%s, not %s", why.text, names[i].word);
		assert_non_null(strstr(why.text, "write an address or a number"));
		assert_int_equal(ink_filter_try(names[i].text, NULL), -EINVAL);
	}
}

/* Which shows, too, that the functions above are those that libpcap calls. */
TEST_THAT(the_filter_of_a_capture_may_have_names)
{
	for (unsigned i = 0; i < COUNT(names); i++) {
		look_ups = 0;
		assert_null(ink_filter_compile(names[i].text, INK_LINK_ETHERNET, &why));
		if (!look_ups)
			fail_msg("%s is not looked up: %s", names[i].text, why.text);
	}
}

static const char *const valid[] = {
	"",
	"tcp port 80",
	"tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and not src and dst net 10.1.0.0/16",
	"tcp[13:1]&2!=0",
	"ip[2:2] - ((ip[0]&0xf)<<2) > 1000",
	"len - 14 > 5 and greater 100",
	"host 10.0.0.1 or 10.0.0.2",
	"net 10.1 or net 10",
	"net 10.1.0.0 mask 255.255.0.0",
	"host fe80::1 or ip6 net 2001:db8::/32",
	"host ::1 or ::ffff:192.0.2.1 or 1:2:3:4:5:6:7::",
	"ether host 00:11:22:33:44:55 or ether dst 0:1:2:a:b:c or ether src 00-11-22-33-44-55",
	"ether host 0011.2233.4455 or ether host 00.11.22.33.44.55 or ether host 001122334455",
	"portrange 6000-6008 or 7000-7008 or not (8000-8008)",
	"portrange (1-2 or 3-4)",
	"icmp[icmptype]==icmp-echo||icmp6[icmp6type]=icmp6-echoreply",
	"vlan 5 and mpls and ip proto 6",
	"llc u or ether proto 0x806",
	"wlan type mgt subtype beacon or wlan addr1 00:11:22:33:44:55 or wlan dir tods", /* of 802.11 */
};

TEST_THAT(words_numbers_and_addresses_are_compiled)
{
	for (unsigned i = 0; i < COUNT(valid); i++) {
		look_ups = 0;
		if (ink_filter_try(valid[i], &why))
			fail_msg("%s: %s", valid[i], why.text);
		assert_int_equal(look_ups, 0);
	}
}

TEST_THAT(any_text_is_compiled_or_refused_without_a_look_up)
{
	/* clang-format off */
	static const char *const parts[] = {
		" ", " ", " ", " ", "host", "net", "port", "portrange", "proto", "gateway", "ether", "ip", "tcp",
		"src", "and", "or", "not", "type", "llc", "len", "(", ")", "!", "&&", "||", "[", "]", ":", "::",
		"-", "_", ".", "/", "\\", "$", "=", "1", "0x1f", "1-2", "3-4", "10.0.0.1", "bcc", "fe80::1", "abcd",
		"a", "\xc3\xa4", "00:1:2:3:4:5", "mask", "mgt", "\n", "12345678", "tcp-syn", "0", "x",
	};
	/* clang-format on */
	enum { LONGEST = 9 };
	unsigned compiled = 0;

	look_ups = 0;
	for (uint64_t i = scaled(100000); i-- > 0;) {
		char text[LONGEST * 16] = "";

		for (unsigned n = 1 + random_below(LONGEST); n-- > 0;)
			strcat(text, parts[random_below(COUNT(parts))]);
		compiled += !ink_filter_try(text, &why);
		if (look_ups)
			fail_msg("'%s' is looked up", text);
	}
	assert_int_not_equal(compiled, 0);
}

int main(void)
{
	return run_suite(NULL);
}
