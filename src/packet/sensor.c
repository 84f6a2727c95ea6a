/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sensors: the part of tracking that needs no table.
 *
 *     packet --> event, key --> id      a sensor
 *     id, event --> table --> move      a tracker, or a receiver elsewhere
 *
 * A machine whose conditions look at counters, at the tail of the flow's last
 * packet or at a queue needs what other packets did to find an event, and only a
 * tracker can run it.
 */
#include "packet/sensor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/siphash.h"
#include "machine/tree.h"

enum { OPTIONS_FIRST = 48 }; /* bytes of the first struct ink_sensor_options */

_Static_assert(sizeof(struct ink_sensed) == 64, "one cache line");

/* ------------------------------------------------------------ a packet's flow */

int ink_sensor_reverses(const struct ink_sensor *s, uint16_t event)
{
	return s->reverses && event != INK_NO_EVENT && s->machine->events[s->view->event_of[event]].reverse;
}

/* The packet in the opposite direction. A key that joins both directions is the same for it. */
static struct ink_packet turned(const struct ink_packet *p)
{
	struct ink_packet t = *p;

	t.flags ^= INK_FROM_HIGH;
	memcpy(t.source, p->destination, sizeof t.source);
	memcpy(t.destination, p->source, sizeof t.destination);
	t.sport = p->dport;
	t.dport = p->sport;
	return t;
}

size_t ink_sensor_key_of(const struct ink_sensor *s, const struct ink_packet *p, int reversed,
			 uint8_t key[INK_KEY_MOST])
{
	struct ink_packet other;

	if (!ink_has_key(p, &s->key))
		return 0;
	if (reversed) {
		other = turned(p);
		p = &other;
	}
	ink_key_write(p, &s->key, key);
	return ink_key_length(p);
}

size_t ink_sensor_key(const struct ink_sensor *s, const struct ink_packet *p, uint16_t event,
		      uint8_t key[INK_KEY_MOST])
{
	return ink_sensor_key_of(s, p, ink_sensor_reverses(s, event), key);
}

void ink_sensor_packets(struct ink_sensor *s, const struct ink_packets *packets, struct ink_sensed *sensed)
{
	struct ink_sight sight = {.counters = NULL};

	for (size_t i = 0; i < packets->n; i++) {
		const struct ink_packet *p = &packets->at[i];
		struct ink_sensed *to = &sensed[i];

		sight.number = ++s->packets;
		memset(to, 0, sizeof *to);
		to->clock = p->clock;
		to->event = ink_classify(s->classifier, p, &sight);
		to->length = (uint8_t)ink_sensor_key(s, p, to->event, to->key);
		to->id = to->length ? ink_siphash13(s->secret, to->key, to->length) : 0;
	}
}

/* ------------------------------------------------------------------- making */

/* The classifier reads the machine's own structs, which the other library has made. */
int ink_check_version(struct ink_why *why)
{
	if (!strcmp(ink_version(), INK_VERSION))
		return 0;
	return ink_fail(why, -ENOTSUP,
			"track: libinkling is version %s and libinkling-packet %s; they must be the same",
			ink_version(), INK_VERSION);
}

struct ink_sensor *ink_sensor_make(const struct ink_sensor_options *o, struct ink_why *why)
{
	struct ink_sensor *s = calloc(1, sizeof *s);

	if (!s)
		return errno = -ink_fail(why, -ENOMEM, "sensor: no memory"), NULL;
	s->machine = o->machine;
	s->view = ink_machine_view(o->machine);
	s->key = *ink_key_rule_of(s->view->key_def, &s->key);
	memcpy(s->secret, o->secret, sizeof s->secret);
	for (unsigned i = 0; i < o->machine->n_events; i++)
		s->reverses |= o->machine->events[i].reverse;
	s->classifier = ink_classifier_make(o->machine, o->link, o->seed, why);
	if (s->classifier)
		return s;
	free(s);
	return NULL;
}

static int check(const struct ink_sensor_options *o, struct ink_why *why)
{
	int error = ink_check_version(why);

	if (error)
		return error;
	if (!o->machine)
		return ink_fail(why, -EINVAL, "sensor: a machine is needed");
	if (o->machine->one_by_one)
		return ink_fail(
			why, -ENOTSUP,
			"sensor: the events of machine %s depend on counters, on states or on a queue: they "
			"need a tracker",
			ink_machine_view(o->machine)->name);
	return 0;
}

struct ink_sensor *ink_sensor_open(const struct ink_sensor_options *options, struct ink_why *why)
{
	static const struct ink_struct known = {"sensor options", OPTIONS_FIRST, sizeof *options};
	struct ink_sensor_options o;
	int error = ink_struct_read(&known, &o, options, why);

	if (!error)
		error = check(&o, why);
	return error ? (errno = -error, NULL) : ink_sensor_make(&o, why);
}

void ink_sensor_close(struct ink_sensor *s)
{
	if (s)
		ink_classifier_free(s->classifier);
	free(s);
}
