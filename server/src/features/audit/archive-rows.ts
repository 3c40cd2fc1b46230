// Defines how the audit log is stored in an archive. The whole chain is verified while it is read, and an archive with
// a broken chain is rejected. Entries are stored unchanged, because their hashes cover them.
import { z } from 'zod';
import { ArchiveError } from '../../kit/archive/archive-error.ts';
import { type ArchiveTable, mayHaveReferredTo, owner, time, unsharedRowId, uuid } from '../../kit/archive/columns.ts';
import type { Row } from '../../kit/archive/read-archive.ts';
import { oneOf, text } from '../../kit/http/shapes.ts';
import { type ChainPosition, findFirstBroken, firstPrevHash, type SealedEntry } from './chain.ts';
import { AuditEntry } from './contract.ts';

const hash = z.string().refine((value) => /^[0-9a-f]{64}$/.test(value), 'must be 64 hexadecimal digits');
const sequence = z.int().min(0).max(1e12);

interface ChainRow {
  readonly first_sequence: number;
  readonly first_prev_hash: string;
  readonly last_sequence: number;
  readonly last_hash: string;
}

/** Creates the tables for one import. They track how far the chain has been verified. */
export function auditArchiveTables(): Readonly<Record<string, ArchiveTable>> {
  let chain: ChainRow = {
    first_sequence: 1,
    first_prev_hash: firstPrevHash,
    last_sequence: 0,
    last_hash: firstPrevHash,
  };
  let position: ChainPosition = { sequence: 0, hash: firstPrevHash };

  const startChain = (row: Row): Row => {
    chain = row as unknown as ChainRow; // the columns have already been checked
    position = { sequence: chain.first_sequence - 1, hash: chain.first_prev_hash };
    return row;
  };
  const verifyEntry = (row: Row): Row => {
    const sealed = row as unknown as SealedEntry;
    const broken = findFirstBroken([sealed], position);
    if (broken !== null) throw brokenChain(broken);
    position = { sequence: sealed.sequence, hash: sealed.hash };
    return checkColumns(row);
  };
  const verifyEnd = () => {
    if (position.sequence !== chain.last_sequence)
      throw brokenChain(Math.min(position.sequence, chain.last_sequence) + 1);
    if (position.hash !== chain.last_hash) throw brokenChain(position.sequence);
  };

  return {
    audit_chains: {
      columns: {
        chain_id: unsharedRowId,
        workspace_id: owner,
        last_sequence: sequence,
        last_hash: hash,
        first_sequence: sequence.min(1),
        first_prev_hash: hash,
      },
      atMost: { rows: 1 },
      complete: startChain,
    },
    audit_entries: {
      columns: {
        workspace_id: owner,
        sequence,
        id: uuid,
        occurred_at: time,
        type: text(1, 200),
        app_id: mayHaveReferredTo('apps'),
        actor_email: text(0, 320).nullable(),
        outcome: oneOf('done', 'refused'),
        request_id: text(0, 1_000),
        entry: AuditEntry.omit({ sequence: true, prev_hash: true, hash: true }),
        prev_hash: hash,
        hash,
      },
      complete: verifyEntry,
      end: verifyEnd,
    },
  };
}

const brokenChain = (sequence: number) =>
  new ArchiveError(
    `the audit chain is broken at entry ${sequence}. To import the workspace without its audit log, add --skip-audit-log`,
  );

/** Sealing copies these columns from the entry. If they differ, the row was not written by sealing. */
function checkColumns(row: Row): Row {
  const entry = row.entry as z.output<typeof AuditEntry>;
  const isCopy =
    row.id === entry.id &&
    Date.parse(String(row.occurred_at)) === Date.parse(entry.occurred_at) &&
    row.type === entry.type &&
    row.app_id === entry.app_id &&
    row.actor_email === entry.actor.email &&
    row.outcome === entry.outcome &&
    row.request_id === entry.request_id;
  if (!isCopy) throw new ArchiveError("its columns don't match its entry");
  return row;
}
