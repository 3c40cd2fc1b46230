// Looks the packages of a lock file up in a database of known vulnerabilities: npm run advisories -- [LOCK_FILE]. Each
// finding is a line of stdout. Exits with 0 if there is none, with 1 if there are some, and with 2 if nobody knows.
import { readFile } from 'node:fs/promises';
import { type Advisories, openAdvisories, type PackageVersion } from '../server/src/gateways/advisories/index.ts';

const installed = 'node_modules/';

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly name?: string; readonly version?: string }>>;
}

/** Lists each version once. The folders of workspaces, and links to them, are not packages. */
function listPackages({ packages }: LockFile): PackageVersion[] {
  const versions = new Map<string, PackageVersion>();
  for (const [path, { name: realName, version }] of Object.entries(packages)) {
    const at = path.lastIndexOf(installed);
    if (at === -1 || version === undefined) continue;
    const name = realName ?? path.slice(at + installed.length); // the real name of a package installed under another
    versions.set(`${name}@${version}`, { name, version });
  }
  return [...versions.values()];
}

class Unknown extends Error {}

async function findLines(advisories: Advisories, packages: readonly PackageVersion[]): Promise<string[]> {
  const found = await advisories.find(packages);
  if (found.outcome === 'unavailable') throw new Unknown(`the database did not answer (${found.reason})`);
  if (!found.isComplete) throw new Unknown('the database has more advisories than could be read');
  const lines: string[] = [];
  for (const [index, { name, version }] of packages.entries())
    for (const reference of found.lists[index] ?? []) {
      const read = await advisories.read(reference);
      if (read.outcome === 'unavailable') throw new Unknown(`${reference.id} could not be read (${read.reason})`);
      if (read.outcome === 'missing' || read.advisory.withdrawn) continue;
      const { id, aliases, summary, database_specific } = read.advisory;
      const severity = database_specific?.severity ?? 'severity unknown';
      lines.push(`${name}@${version}: ${[id, ...aliases].join(', ')} (${severity}): ${summary}`);
    }
  return lines;
}

async function run(lockFile: string, url: string | undefined): Promise<number> {
  if (!url) throw new Unknown('set ADVISORIES_URL to a database with the protocol of OSV');
  const packages = listPackages(JSON.parse(await readFile(lockFile, 'utf8')));
  if (packages.length === 0) throw new Unknown(`${lockFile} has no packages`);
  const advisories = openAdvisories({ url });
  try {
    const lines = await findLines(advisories, packages);
    for (const line of lines) console.log(line);
    console.error(`${packages.length} packages, ${lines.length} advisories`);
    return lines.length === 0 ? 0 : 1;
  } finally {
    await advisories.close();
  }
}

try {
  process.exitCode = await run(process.argv[2] ?? 'package-lock.json', process.env.ADVISORIES_URL);
} catch (error) {
  console.error(error instanceof Unknown ? error.message : error);
  process.exitCode = 2;
}
