// The parts of an OSV advisory (https://ossf.github.io/osv-schema/) that Plinth reads. Their size is limited,
// because they come from an external database and are stored with scans.
import { z } from 'zod';

const maxAliases = 32;
const maxAffected = 200;
const maxRanges = 100;
const maxEvents = 500;
const maxVersions = 5_000;

/** Keeps only the start of a long list. */
const listOf = <Item extends z.ZodType>(item: Item, max: number) =>
  z.preprocess((value) => (Array.isArray(value) ? value.slice(0, max) : []), z.array(item));
const textOf = (max: number) =>
  z.preprocess((value) => (typeof value === 'string' ? value.slice(0, max) : ''), z.string());

export const advisoryId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/);
const version = z.string().max(256);

const Event = z.object({
  introduced: version.optional(),
  fixed: version.optional(),
  last_affected: version.optional(),
  limit: version.optional(),
});

const Affected = z.object({
  package: z.object({ name: z.string().max(256), ecosystem: z.string().max(64) }).optional(),
  ranges: listOf(z.object({ type: z.string().max(32), events: listOf(Event, maxEvents) }), maxRanges),
  versions: listOf(version, maxVersions),
});

const SeverityScore = z.object({ type: z.string().max(32), score: z.string().max(256) });

export const Advisory = z.object({
  id: advisoryId,
  modified: z.string().max(64),
  withdrawn: z.string().max(64).nullish(),
  summary: textOf(300),
  aliases: listOf(advisoryId, maxAliases),
  severity: listOf(SeverityScore, 8),
  affected: listOf(Affected, maxAffected),
  database_specific: z
    .object({ severity: z.string().max(32).nullish().catch(null) })
    .nullish()
    .catch(null),
});
export type Advisory = z.output<typeof Advisory>;
export type AdvisoryRange = Advisory['affected'][number]['ranges'][number];
