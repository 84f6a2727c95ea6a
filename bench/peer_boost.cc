/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * boost::unordered_flat_map, by 16-byte keys or by 64-bit ids, and with a prefetch.
 *
 * Its memory is two arrays: groups of 16 bytes, which say what 15 elements there are, and
 * the elements. A lookup waits twice, for the group and then for the element. Boost 1.81
 * has no call that prefetches, and consecutive find()s overlap only as far as the processor
 * looks ahead. So the prefetch is made of what boost keeps private: where the arrays are,
 * and which elements of a group may be those of a hash. The first pass prefetches the group,
 * the second looks into it and prefetches the element; then boost's own calls do the work.
 *
 *     group    hash >> groups_size_index
 *     element  15 * group + the place in the group, 16 bytes if ids are the keys
 *
 * How far ahead makes no difference: 8, 16 and 32 items perform alike. A program that uses
 * boost cannot do this without knowing boost's inside: the row says what the structure
 * allows, not what a user gets.
 */
#include "bench/peer_map.h"
#include "bench/peers.h"

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/version.hpp>

namespace bench
{

/* ---------------------------------------------------------------- hashes */

struct boost_given {
	using is_avalanching = void; /* else boost would mix once more */

	size_t operator()(const key &k) const
	{
		return k.word[0];
	}

	size_t operator()(uint64_t id) const
	{
		return id;
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

template <class Keys, class Hash> using boost_map =
	boost::unordered_flat_map<typename Keys::type, uint8_t, Hash, std::equal_to<typename Keys::type>,
				  counting_allocator<entry_of<Keys>>>;

using id_map = boost_map<ids_alone, boost_given>;

/* ------------------------------------------------------------ two passes */

#if BOOST_VERSION / 100 == 1081

/* An explicit instantiation may name a private member, and this one gives it away. */
template <class Tag, auto Member> struct give_away {
	friend constexpr auto member_of(Tag)
	{
		return Member;
	}
};

struct table_tag {
	friend constexpr auto member_of(table_tag);
};
template struct give_away<table_tag, &id_map::table_>;
using id_table = std::remove_reference_t<decltype(std::declval<id_map &>().*member_of(table_tag()))>;

struct arrays_tag {
	friend constexpr auto member_of(arrays_tag);
};
template struct give_away<arrays_tag, &id_table::arrays>;

static const auto &arrays_of(const id_map &map)
{
	return map.*member_of(table_tag()).*member_of(arrays_tag());
}

struct two_passes {
	static constexpr bool NONE = false;

	static void first(const id_map &map, uint64_t id)
	{
		const auto &arrays = arrays_of(map);

		__builtin_prefetch(&arrays.groups[id >> arrays.groups_size_index]);
	}

	static void second(const id_map &map, uint64_t id)
	{
		const auto &arrays = arrays_of(map);
		size_t group = id >> arrays.groups_size_index;
		unsigned matches = unsigned(arrays.groups[group].match(id));

		/* Without a match the element goes where room is, or is not there. */
		if (!matches)
			matches = unsigned(arrays.groups[group].match_available());
		if (matches)
			__builtin_prefetch(&arrays.elements[15 * group + unsigned(__builtin_ctz(matches))]);
	}
};

#else

using two_passes = no_fetch;

#endif

bool boost_has_two_passes()
{
	return !two_passes::NONE;
}

/* -------------------------------------------------------------- the rows */

std::string boost_version()
{
	std::string version = BOOST_LIB_VERSION;

	for (char &c : version)
		c = c == '_' ? '.' : c;
	return version;
}

table_ptr make_boost(size_t n, hashing h, boost_keys k)
{
	if (k == boost_keys::ids_two_passes)
		return std::make_unique<map_table<id_map, ids_alone, two_passes>>(n);
	if (k == boost_keys::ids)
		return std::make_unique<map_table<id_map, ids_alone, no_fetch>>(n);
	if (h == hashing::given)
		return std::make_unique<map_table<boost_map<whole_keys, boost_given>, whole_keys, no_fetch>>(
			n);
	return std::make_unique<map_table<boost_map<whole_keys, boost::hash<key>>, whole_keys, no_fetch>>(n);
}

} /* namespace bench */
