// Reads PostgreSQL's log to find which lookups shared a statement.
import { readFileSync } from 'node:fs';
import type { Caller } from './environment.ts';

/** The token hashes that one statement looked up. */
type Statement = readonly string[];

export function readStatements(logFile: string): Statement[] {
  const statements: Statement[] = [];
  let isLookup = false;
  for (const line of readFileSync(logFile, 'utf8').split('\n')) {
    const [, name] = /^LOG: {2}execute ([^:]+): /.exec(line) ?? [];
    if (name !== undefined) isLookup = name.startsWith('look up app');
    if (!isLookup || !line.startsWith('DETAIL:  parameters: $1 = ')) continue;
    const [first = ''] = line.split(', $2 = ');
    statements.push([...first.matchAll(/\\x([0-9a-f]{64})/g)].map(([, hash]) => hash as string));
  }
  return statements;
}

export function summariseStatements(statements: readonly Statement[], callers: readonly Caller[]) {
  const workspaceOf = new Map(callers.map(({ hash, workspaceId }) => [hash, workspaceId]));
  const bySize: Record<number, number> = {};
  for (const { length } of statements) bySize[length] = (bySize[length] ?? 0) + 1;
  const isMixed = (statement: Statement) => new Set(statement.map((hash) => workspaceOf.get(hash))).size >= 2;
  return {
    bySize,
    /** Counts the lookups in statements that contain at least this many lookups, from at least two workspaces. */
    answersFrom: (minTogether: number) =>
      statements
        .filter((statement) => statement.length >= minTogether && isMixed(statement))
        .reduce((sum, { length }) => sum + length, 0),
  };
}
