// Configures the bundle of the console. `build.ts` runs it and writes what the server needs besides.
import { fileURLToPath } from 'node:url';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const pathTo = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** These change only when a dependency does, so browsers keep the file from release to release. */
const vendor = /node_modules\/(react|react-dom|scheduler|@tanstack)\//;

export default defineConfig({
  root: pathTo('.'),
  base: '/console/',
  plugins: [react(), tailwind()],
  // The SDK is read from its source, so a build needs no earlier one.
  resolve: { alias: { '@plinth/client': pathTo('../client/sdk/src/index.ts') } },
  build: {
    target: 'es2023',
    manifest: 'manifest.json',
    // The policy admits pictures as data, but files of their own are kept longer by browsers.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'vendor', test: vendor }] } },
    },
  },
});
