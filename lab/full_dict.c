/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/full_dict.h"

#include <errno.h>

struct ink_kbf_dict *full_dict(struct lab *lab, const struct ink_kbf_dict_options *options,
			       const struct ink_bytes *values)
{
	struct ink_why why;
	struct ink_kbf_dict *dict = ink_kbf_dict_create(options, &why);
	int error = 0;

	if (!dict) {
		lab_fail(lab, -errno, "a dictionary: %s", why.text);
		return NULL;
	}
	for (uint32_t i = 0; i < options->values && !error; i++)
		error = ink_kbf_dict_add(dict, values[i], NULL);
	if (!error)
		return dict;
	ink_kbf_dict_free(dict);
	errno = -lab_fail(lab, error, "the values of a dictionary");
	return NULL;
}
