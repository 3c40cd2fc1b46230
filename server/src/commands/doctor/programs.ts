// Checks the programs that workers start: the browser, the command sandbox, and what reads files of strangers. All are
// really run, on this machine.
import { tmpdir } from 'node:os';
import { toSandboxSettings } from '../../app/settings.ts';
import type { Config } from '../../config.ts';
import { openBrowser } from '../../gateways/browser/index.ts';
import { openCommandSandbox } from '../../gateways/command-sandbox/index.ts';
import { listGaps } from '../../kit/unprivileged.ts';
import { broken, type Check, describeReason, notConfigured, readSetting, works } from './check.ts';

const limitMs = 20_000;
const page = '<!doctype html><html lang="en"><title>doctor</title><p>It works.</p></html>';

const browser: Check = {
  part: 'browser',
  limitMs,
  async run(context, signal) {
    const executable = readSetting(context, 'BROWSER_EXECUTABLE');
    if (executable === undefined)
      return notConfigured(
        'The builder does not look at pages in a browser, and browser tests do not run, until BROWSER_EXECUTABLE is set.',
      );
    let why = '';
    const opened = openBrowser({
      executable,
      noSandbox: readSetting(context, 'BROWSER_NO_SANDBOX'),
      onFailure: (_outcome, reason) => {
        why = `: ${describeReason(reason, context)}`;
      },
    });
    try {
      const files = async (path: string) =>
        path === '/' ? { content: Buffer.from(page), contentType: 'text/html' } : undefined;
      const report = await opened.checkPage({ owner: 'doctor', files, path: '/', signal });
      return report.outcome === 'unavailable'
        ? broken(`${executable} could not show a page (${report.reason})${why}. See docs/operate/configure.md#browser.`)
        : works(`${executable} starts and shows a page.`);
    } finally {
      await opened.close();
    }
  },
};

const commandSandbox: Check = {
  part: 'command sandbox',
  limitMs,
  async run(context) {
    const settings = toSandboxSettings(context.config as Config);
    const off = 'Coding sessions read and change files, but run no commands';
    if (readSetting(context, 'COMMAND_SANDBOX_BWRAP') === 'off')
      return notConfigured(`${off}, because COMMAND_SANDBOX_BWRAP is off.`);
    const opened = openCommandSandbox({ ...settings, onProblem: () => {} });
    try {
      const state = await opened.check();
      if (state.available) return works('A command was run and kept within its limits.');
      const message = `${off}: ${describeReason(state.reason, context)}. See docs/operate/command-sandbox.md.`;
      // By default, commands are run where the machine allows it.
      return context.isSet('COMMAND_SANDBOX_BWRAP') ? broken(message) : notConfigured(message);
    } finally {
      await opened.close();
    }
  },
};

const decoders: Check = {
  part: 'files of strangers',
  limitMs,
  async run(context) {
    const gaps = listGaps(readSetting(context, 'SESSION_FOLDER') ?? tmpdir());
    if (gaps.length === 0)
      return works('Logos, code and repositories of strangers are read as other users, without access to the network.');
    const message = `${gaps.join(' ')} See docs/operate/install.md#start-it.`;
    return process.getuid?.() === 0 ? broken(message) : notConfigured(message);
  },
};

export const programChecks: readonly Check[] = [browser, commandSandbox, decoders];
