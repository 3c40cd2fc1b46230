// Finds a browser on this machine for `plinth dev`, which uses it to check the assistant's pages and run browser tests.
import { existsSync } from 'node:fs';

const usualPaths = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

export const findBrowser = (paths: readonly string[] = usualPaths): string | undefined => paths.find(existsSync);
