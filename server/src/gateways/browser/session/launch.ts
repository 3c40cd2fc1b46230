// A session's browser: a separate process with an empty profile, driven by Playwright over our pipes, with our
// proxy as its only network.
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
  /** The folder where Playwright may write. The browser can't read it. */
  readonly artifacts: string;
  /** Kills all of the browser's processes, and removes the data it stored. */
  stop(): Promise<void>;
}

const flags = [
  '--no-startup-window',
  '--renderer-process-limit=6',
  '--js-flags=--max-old-space-size=256',
  // Makes pages behave as if they were visible, even when another page covers them.
  '--disable-back-forward-cache',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  // We detect hanging pages ourselves, and there is no one to answer prompts.
  '--disable-hang-monitor',
  '--disable-popup-blocking',
  '--disable-prompt-on-repost',
  // Makes screenshots cheap, and identical on every machine.
  '--enable-features=CDPScreenshotNewSurface',
  '--force-color-profile=srgb',
  '--hide-scrollbars',
];

/** `onExcess` is called if the page sends more data than allowed. The connection is then closed. */
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
      if (child.pid === undefined) throw new NotStarted('The Chromium process did not start');
      return { browser, processId: child.pid, artifacts, stop };
    } catch (error) {
      await stop();
      throw error;
    }
  }
}
