/* SPDX-License-Identifier: BSD-2-Clause */
/* Every public struct that begins with `size`, passed by callers of other versions: sizes.h. */
#include <inkling/count.h>
#include <inkling/kbf.h>

#include "tests/sizes.h"
#include "tests/test.h"

/* ------------------------------------------------------------- counting sets */

static const struct ink_count_options count_options = {.size = sizeof count_options, .items = 100, .seed = 1};

static int count_create(void *theirs)
{
	struct ink_count *c = ink_count_create(theirs, NULL);
	int error = c ? 0 : -errno;

	ink_count_free(c);
	return error;
}

static int count_plan_from(void *theirs)
{
	struct ink_count_plan plan = {.size = sizeof plan};

	return ink_count_plan(theirs, &plan, NULL);
}

static int count_plan_into(void *theirs)
{
	return ink_count_plan(&count_options, theirs, NULL);
}

static int count_stats(void *theirs)
{
	struct ink_count *c = ink_count_create(&count_options, NULL);
	int error = ink_count_stats(c, theirs);

	ink_count_free(c);
	return error;
}

/* ---------------------------------------------------------- kBFs, dictionaries */

static const struct ink_kbf_dict_options dict_options = {
	.size = sizeof dict_options, .values = 10, .seed = 1};
static struct ink_kbf_options kbf_options = {.size = sizeof kbf_options, .keys = 100};

static int make_dict(void **state)
{
	kbf_options.dict = ink_kbf_dict_create(&dict_options, NULL);
	return kbf_options.dict ? 0 : -1;
}

static int free_dict(void **state)
{
	ink_kbf_dict_free(kbf_options.dict);
	return 0;
}

static int dict_create(void *theirs)
{
	struct ink_kbf_dict *d = ink_kbf_dict_create(theirs, NULL);
	int error = d ? 0 : -errno;

	ink_kbf_dict_free(d);
	return error;
}

static int dict_stats(void *theirs)
{
	return ink_kbf_dict_stats(kbf_options.dict, theirs);
}

static int kbf_create(void *theirs)
{
	struct ink_kbf *f = ink_kbf_create(theirs, NULL);
	int error = f ? 0 : -errno;

	ink_kbf_free(f);
	return error;
}

static int kbf_plan_from(void *theirs)
{
	struct ink_kbf_plan plan = {.size = sizeof plan};

	return ink_kbf_plan(theirs, &plan, NULL);
}

static int kbf_plan_into(void *theirs)
{
	return ink_kbf_plan(&kbf_options, theirs, NULL);
}

static int kbf_stats(void *theirs)
{
	struct ink_kbf *f = ink_kbf_create(&kbf_options, NULL);
	int error = ink_kbf_stats(f, theirs);

	ink_kbf_free(f);
	return error;
}

/* --------------------------------------------------------------- all of them */

/* The first sizes are those of the first release, and never change. */
#define IN(type, first, sample, call)                                                                        \
	{                                                                                                    \
#type, first, sizeof(struct type), sample, call                                              \
	}
#define OUT(type, first, call)                                                                               \
	{                                                                                                    \
#type, first, sizeof(struct type), NULL, call                                                \
	}

static const struct sized structs[] = {
	IN(ink_count_options, 80, &count_options, count_create),
	IN(ink_count_options, 80, &count_options, count_plan_from),
	OUT(ink_count_plan, 104, count_plan_into),
	OUT(ink_count_stats, 88, count_stats),
	IN(ink_kbf_dict_options, 32, &dict_options, dict_create),
	OUT(ink_kbf_dict_stats, 32, dict_stats),
	IN(ink_kbf_options, 104, &kbf_options, kbf_create),
	IN(ink_kbf_options, 104, &kbf_options, kbf_plan_from),
	OUT(ink_kbf_plan, 80, kbf_plan_into),
	OUT(ink_kbf_stats, 128, kbf_stats),
};

TEST_THAT(structs_of_older_and_newer_callers_are_taken_and_others_refused)
{
	for (size_t i = 0; i < COUNT(structs); i++)
		assert_grows(&structs[i]);
}

TEST_THAT(null_instead_of_a_struct_is_refused)
{
	for (size_t i = 0; i < COUNT(structs); i++)
		if (structs[i].call != dict_create) /* whose options may be NULL */
			assert_int_equal(structs[i].call(NULL), -EINVAL);
}

int main(void)
{
	return run_suite(&(struct suite){.begin = make_dict, .end = free_dict});
}
