/* SPDX-License-Identifier: BSD-2-Clause */
/* For line_cells.h: tables of the usual shape. All but the number of lines is a constant. */
#ifndef INKLING_LINE_USUAL_H
#define INKLING_LINE_USUAL_H

#include "usual.h"

#define shape_of(t) (&(const struct ink_line_shape){LINE_USUAL, .lines = (t)->shape.line.lines})

#endif
