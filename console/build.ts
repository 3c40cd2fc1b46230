// `npm run build -w console [-- FOLDER]`: bundles the console into `dist` or the folder, compresses the files, and lists
// them in `files.json`.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'vite';

const here = fileURLToPath(new URL('.', import.meta.url));
const dist = resolve(process.argv[2] ?? join(here, 'dist'));

// Tests set it to `test`, for which React is twice as large.
process.env.NODE_ENV = 'production';
await build({
  configFile: join(here, 'vite.config.ts'),
  logLevel: 'warn',
  build: { outDir: dist, emptyOutDir: true },
});
placeThemeScript();
const paths = listFiles(dist);
writeFileSync(join(dist, 'files.json'), `${JSON.stringify(paths.map(compressFile), null, 2)}\n`);

/** Runs before the first paint, so it is no module, and Vite leaves it alone. */
function placeThemeScript(): void {
  const script = readFileSync(join(here, 'theme.js'));
  const name = `assets/theme-${hash(script).slice(0, 8)}.js`;
  writeFileSync(join(dist, name), script);
  const page = readFileSync(join(dist, 'index.html'), 'utf8');
  const placed = page.replace('src="/theme.js"', `src="/console/${name}"`);
  if (placed === page) throw new Error('index.html does not load theme.js');
  writeFileSync(join(dist, 'index.html'), placed);
  rmSync(join(dist, 'theme.js'), { force: true });
}

function compressFile(path: string) {
  const content = readFileSync(join(dist, path));
  const encodings = { br: `${path}.br`, gzip: `${path}.gz` };
  writeFileSync(join(dist, encodings.br), brotliCompressSync(content));
  writeFileSync(join(dist, encodings.gzip), gzipSync(content, { level: 9 }));
  return { path, sha256: hash(content), bytes: content.length, encodings };
}

function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'manifest.json')
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

function hash(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
