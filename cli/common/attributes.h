/* SPDX-License-Identifier: BSD-3-Clause */
/* attributes.h: what an archive says of its field, for csz info: name, dims' names, attributes. */
#ifndef CLI_ATTRIBUTES_H
#define CLI_ATTRIBUTES_H

#include "csz.h"
#include "terminal/json.h"

/* metadata of nbytes; NULL: none.  In JSON the keys are always there. */
void cli_attributes_print(const unsigned char *metadata, size_t nbytes);
void cli_attributes_json(cli_json *json, const unsigned char *metadata, size_t nbytes);

#endif
