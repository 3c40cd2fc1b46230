// The settings for the programs that workers start: the browser, and the sandbox for coding sessions' commands.
import { flag, matching, optional, setting, text, wholeNumber } from './setting.ts';

export const toolSettings = {
  BROWSER_EXECUTABLE: optional(
    'Path of Chromium or Chrome, such as `/usr/bin/chromium`, with which workers look at the errors of pages and run browser tests. If unset, they do neither: docs/operate/configure.md#browser.',
    text,
  ),
  BROWSER_NO_SANDBOX: setting(
    "If `true`, the browser runs without Chromium's own sandbox. Only for machines that do not allow it, such as some containers.",
    'false',
    flag,
  ),
  COMMAND_SANDBOX_BWRAP: setting(
    'Path of bubblewrap, in which workers run the commands of coding agents, or `off`. If it is not there, or the machine does not allow what it needs, commands are refused and everything else works: docs/operate/command-sandbox.md.',
    '/usr/bin/bwrap',
    matching(/^(\/.+|off)$/, 'an absolute path, or off'),
  ),
  COMMAND_SANDBOX_UID: setting(
    'If workers run as root: the first of 256 user ids as which commands run. Nothing else may use them.',
    '60600',
    wholeNumber(1_000, 4_000_000_000),
  ),
  COMMAND_SANDBOX_CGROUP: optional(
    'Control group below which workers make one per command. With version 2 an absolute folder, such as `/sys/fs/cgroup/plinth`; with version 1 a name below the folder of each controller, by default `plinth`.',
    text,
  ),
  COMMAND_SANDBOX_MEMORY_MB: setting(
    'How much memory a command may use, with all its processes.',
    '1024',
    wholeNumber(64, 1_000_000),
  ),
  COMMAND_SANDBOX_PROCESSES: setting(
    'How many processes and threads a command may have at a time.',
    '256',
    wholeNumber(16, 100_000),
  ),
  COMMAND_SANDBOX_PROCESSORS: setting(
    'How many processors a command may use at a time, with all its processes. Without effect where the control group of the worker has no controller `cpu`.',
    '2',
    wholeNumber(1, 1_024),
  ),
  SESSION_FOLDER: optional(
    'Folder on the disk of each worker for the repositories of coding sessions that it runs. They are removed when the session leaves the worker. If unset, `plinth-sessions-` with an id of the database, in the folder for temporary files.',
    text,
  ),
  SESSION_MAX_CREDITS: setting(
    'How many credits a coding session may cost, with all its turns.',
    '50',
    wholeNumber(2, 1_000_000),
  ),
  SESSION_AUTHOR: setting(
    'Who is the author of the commits of coding sessions.',
    'Plinth <plinth@noreply.invalid>',
    parseAuthor,
  ),
};

/** Parses `Name <address>`, in git's format. */
function parseAuthor(value: string): { name: string; email: string } {
  const [, name = '', email = ''] = /^([^<>\n]{1,100}) <([^<>\s]{1,200}@[^<>\s]{1,200})>$/.exec(value) ?? [];
  if (name.trim() === '') throw new Error('must be a name and an address, such as Plinth <plinth@example.com>');
  return { name: name.trim(), email };
}
