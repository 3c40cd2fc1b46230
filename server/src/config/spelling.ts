// Finds environment variables that have no effect: their names nearly match a setting, or look like one.

/** Finds unknown names that nearly match a known one, such as `DATABSE_POOL_SIZE`. */
export const findMisspelled = (names: readonly string[], known: readonly string[]): { name: string; known: string }[] =>
  names.flatMap((name) => {
    if (known.includes(name)) return [];
    const similar = known.find((each) => {
      const maxEdits = each.length < 8 ? 1 : 2;
      if (Math.abs(name.length - each.length) > maxEdits) return false; // without this check, counting takes 200 ms
      return countEdits(name.toUpperCase(), each) <= maxEdits;
    });
    return similar === undefined ? [] : [{ name, known: similar }];
  });

/** Names with these prefixes can only be meant for Plinth. */
const ownPrefixes = /^(PLINTH|CONNECTOR|COMMAND_SANDBOX|GIT_HOST|ADS_PLATFORM|STORAGE_S3)_/;
/** Kubernetes and Docker set such variables for a service that is called `plinth`. */
const serviceVariables = /_(SERVICE_HOST|SERVICE_PORT|PORT)(_|$)/;
/** Variables that Node and the C library read, and that operators keep in the same file. */
const otherVariables = /^(NODE_|MALLOC_|TZ$|LANG$|LC_|PATH$)/;

/**
 * Finds names that are no setting: all such names of the file `.env`, which is Plinth's own, and those of the environment
 * that begin like settings. Leaves out names that `findMisspelled` finds.
 */
export function findUnknown(
  environmentNames: readonly string[],
  fileNames: readonly string[],
  known: readonly string[],
): string[] {
  const misspelled = new Set(findMisspelled([...environmentNames, ...fileNames], known).map(({ name }) => name));
  const inEnvironment = environmentNames.filter((name) => ownPrefixes.test(name) && !serviceVariables.test(name));
  const inFile = fileNames.filter((name) => !otherVariables.test(name));
  return [...new Set([...inEnvironment, ...inFile])].filter((name) => !known.includes(name) && !misspelled.has(name));
}

/** How many letters must be added, removed, replaced or swapped to turn one word into the other. */
function countEdits(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j += 1) {
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
          isSwap ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(a.length, b.length);
}
