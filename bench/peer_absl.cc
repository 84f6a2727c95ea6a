/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/peer_map.h"
#include "bench/peers.h"

#include <absl/base/config.h>
#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>

namespace bench
{

/* absl takes a hasher's result as it is: 7 bits for the control byte, the others for the place. */
struct absl_given {
	size_t operator()(const key &k) const
	{
		return k.word[0];
	}
};

template <class H> H AbslHashValue(H h, const key &k)
{
	return H::combine(std::move(h), k.word[0], k.word[1]);
}

template <class Hash> using absl_map =
	absl::flat_hash_map<key, uint8_t, Hash, std::equal_to<key>, counting_allocator<entry_of<whole_keys>>>;

/* Its own call fetches both the control bytes and the place. */
struct absl_fetch {
	static constexpr bool NONE = false;

	template <class Map> static void first(const Map &, const key &)
	{
	}

	template <class Map> static void second(const Map &map, const key &k)
	{
		map.prefetch(k);
	}
};

std::string absl_version()
{
	return std::to_string(ABSL_LTS_RELEASE_VERSION) + "." + std::to_string(ABSL_LTS_RELEASE_PATCH_LEVEL);
}

template <class Hash> static table_ptr make(size_t n, bool prefetch)
{
	if (prefetch)
		return std::make_unique<map_table<absl_map<Hash>, whole_keys, absl_fetch>>(n);
	return std::make_unique<map_table<absl_map<Hash>, whole_keys, no_fetch>>(n);
}

table_ptr make_absl(size_t n, hashing h, bool prefetch)
{
	return h == hashing::given ? make<absl_given>(n, prefetch) : make<absl::Hash<key>>(n, prefetch);
}

} /* namespace bench */
