// Lists what a release contains in CycloneDX's format, with a number and a time that derive from the commit.
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Commit } from './commit.ts';
import { root } from './root.ts';
import { run } from './run.ts';

const options = ['--workspace=server', '--include=dev', '--package-lock-only', '--sbom-format=cyclonedx'];

export async function writeSbom(folder: string, release: { version: string; commit: Commit }): Promise<void> {
  const sbom = JSON.parse(await run('npm', ['sbom', ...options, '--sbom-type=application'], root));
  sbom.serialNumber = `urn:uuid:${uuidOf(`${release.version} ${release.commit.id}`)}`;
  sbom.metadata.timestamp = release.commit.time.toISOString();
  sbom.components.push(await describeNode());
  await writeFile(join(folder, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
}

async function describeNode() {
  const { version } = JSON.parse(await readFile(join(root, 'node_modules/node/package.json'), 'utf8'));
  const purl = `pkg:generic/node@${version}`;
  return { 'bom-ref': purl, type: 'platform', name: 'node', version, purl, licenses: [{ license: { id: 'MIT' } }] };
}

/** A version 8 UUID, which RFC 9562 leaves to the application. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
