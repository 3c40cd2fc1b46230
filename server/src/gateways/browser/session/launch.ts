// Owns the browser of a session: a process of its own with an empty profile, driven by Playwright over our pipes, with our proxy
// as its only network.
import { mkdir } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import {
  type ChromiumSettings,
  chooseUser,
  giveFolder,
  listProxyFlags,
  NotStarted,
  removeOldProfiles,
  removeProfile,
  spawnChromium,
  waitUntilStarted,
} from '../chromium.ts';
import { folderPrefix, killProcessGroup, profileOf } from './host.ts';
import { loadPlaywright } from './playwright.ts';
import { createTransport } from './transport.ts';

export interface SessionBrowser {
  readonly browser: Browser;
  readonly processId: number;
  /** Where Playwright may write. The browser can't read it. */
  readonly artifacts: string;
  /** Kills the browser with all its processes, and removes what it stored. */
  stop(): Promise<void>;
}

const flags = [
  '--no-startup-window',
  '--renderer-process-limit=6',
  '--js-flags=--max-old-space-size=256',
  // A page behaves as one that a person looks at, also if another one covers it.
  '--disable-back-forward-cache',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  // A page that hangs is noticed by us. Nobody is there to answer.
  '--disable-hang-monitor',
  '--disable-popup-blocking',
  '--disable-prompt-on-repost',
  // Pictures are the same on every machine, and cheap.
  '--enable-features=CDPScreenshotNewSurface',
  '--force-color-profile=srgb',
  '--hide-scrollbars',
];

/** `onExcess`: the page said more than is read. The connection has then been closed. */
export async function launchBrowser(
  settings: ChromiumSettings,
  id: string,
  proxyPort: number,
  signal: AbortSignal,
  onExcess: (why: string) => void,
): Promise<SessionBrowser> {
  const user = chooseUser(settings);
  removeOldProfiles(folderPrefix);
  const profile = profileOf(id);
  const artifacts = `${profile}-artifacts`;
  const removeFolders = () => Promise.all([profile, artifacts].map(removeProfile));
  await mkdir(profile, { mode: 0o700 });
  try {
    await mkdir(artifacts, { mode: 0o700 });
    await giveFolder(profile, user);
    return await connectBrowser();
  } catch (error) {
    await removeFolders();
    throw error;
  }

  async function connectBrowser(): Promise<SessionBrowser> {
    const chromium = await loadPlaywright();
    const started = spawnChromium(settings, user, profile, [...listProxyFlags(proxyPort), ...flags]);
    const { child, toBrowser, fromBrowser } = started;
    const stop = async () => {
      if (child.pid !== undefined) await killProcessGroup(child.pid);
      await removeFolders();
    };
    try {
      const transport = createTransport(toBrowser, fromBrowser, onExcess);
      const connected = chromium.connectOverCDP(transport, { artifactsDir: artifacts, timeout: 0 });
      const browser = await waitUntilStarted(child, connected, signal);
      if (child.pid === undefined) throw new NotStarted('Chromium has no process');
      return { browser, processId: child.pid, artifacts, stop };
    } catch (error) {
      await stop();
      throw error;
    }
  }
}
