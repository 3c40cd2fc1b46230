// Finds what was meant by a name that does not exist.

/** The names that are most like the one that was typed, the nearest first. */
export function findSimilar(typed: string, names: Iterable<string>, count = 3): string[] {
  const wished = typed.toLowerCase();
  const near = [...new Set(names)]
    .map((name) => ({ name, distance: measureDistance(wished, name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const nearest = near.filter(({ name, distance }) => distance <= Math.max(wished.length, name.length) * 0.4);
  const within = near.filter(({ name }) => wished.length > 2 && name.toLowerCase().includes(wished));
  return [...new Set([...nearest, ...within].map(({ name }) => name))].slice(0, count);
}

/** A sentence that names them, or else `otherwise`. */
export function suggest(typed: string, names: Iterable<string>, otherwise = ''): string {
  const similar = findSimilar(typed, names);
  return similar.length > 0 ? `Did you mean ${similar.join(', ')}?` : otherwise;
}

/** How many letters must be changed to turn one word into the other. */
function measureDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [at, letter] of [...a].entries()) {
    const next = [at + 1];
    for (const [index, other] of [...b].entries())
      next.push(
        Math.min((next[index] ?? 0) + 1, (row[index + 1] ?? 0) + 1, (row[index] ?? 0) + (letter === other ? 0 : 1)),
      );
    row = next;
  }
  return row.at(-1) ?? 0;
}
