/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/peer_map.h"
#include "bench/peers.h"

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/version.hpp>

namespace bench
{

struct boost_given {
	using is_avalanching = void; /* else boost would mix once more */

	size_t operator()(const key &k) const
	{
		return k.word[0];
	}
};

/* For boost::hash; by words, because boost::hash_range over 16 bytes takes twice the time. */
static size_t hash_value(const key &k)
{
	size_t seed = 0;

	boost::hash_combine(seed, k.word[0]);
	boost::hash_combine(seed, k.word[1]);
	return seed;
}

template <class Hash> using boost_map =
	boost::unordered_flat_map<key, uint8_t, Hash, std::equal_to<key>, counting_allocator<map_entry>>;

template <class Hash> using boost_table = map_table<boost_map<Hash>, no_fetch>;

std::string boost_version()
{
	std::string version = BOOST_LIB_VERSION;

	for (char &c : version)
		c = c == '_' ? '.' : c;
	return version;
}

table_ptr make_boost(size_t n, hashing h)
{
	if (h == hashing::given)
		return std::make_unique<boost_table<boost_given>>(n);
	return std::make_unique<boost_table<boost::hash<key>>>(n);
}

} /* namespace bench */
