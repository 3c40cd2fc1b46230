// Writes docs/configuration.md from the settings that src/config.ts reads.
import type { listSettings } from '../src/config.ts';

export function describeConfiguration(settings: ReturnType<typeof listSettings>): string {
  const rows = settings.map(({ name, about, fallback, required }) => {
    const value = required
      ? '**required**'
      : fallback === undefined
        ? 'unset'
        : fallback === ''
          ? 'empty'
          : `\`${fallback}\``;
    return `| \`${name}\` | ${value} | ${about} |`;
  });
  return [
    '# Configuration',
    '',
    'Written by `npm run describe` from `server/src/config.ts`. Not edited by hand.',
    '',
    'Plinth reads its settings from the environment, and from a file `.env` in the folder it is started in. It does not',
    'start while a required one is missing, and says which. `plinth keys new` prints new keys in the form below.',
    '',
    '| Setting | Default | What it is |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
