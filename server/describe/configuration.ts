// Writes docs/generated/configuration.md and .env.example from the settings in src/config.ts.
import type { listSettings } from '../src/config.ts';

type Settings = ReturnType<typeof listSettings>;

export function describeConfiguration(settings: Settings): string {
  const rows = settings.map(
    (setting) => `| \`${setting.name}\` | ${describeDefault(setting)} | ${setting.description} |`,
  );
  return [
    '# Configuration',
    '',
    'Written by `npm run describe` from `server/src/config.ts`. Do not edit.',
    '',
    'Plinth reads its settings from the environment, and from the file `.env` in the folder it is started in. It refuses to',
    'start if a required setting is missing or a value is invalid, and lists which. `plinth keys new` prints new keys.',
    '[.env.example](../../.env.example) is a file to start from.',
    '',
    '| Setting | Default | Description |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function describeDefault({ required, defaultText }: Settings[number]): string {
  if (required) return '**required**';
  if (defaultText === undefined) return 'unset';
  return defaultText === '' ? 'empty' : `\`${defaultText}\``;
}

/** Every setting is commented out, so a copy of the file has no effect until a line is uncommented. */
export function describeEnvironmentExample(settings: Settings): string {
  const entries = settings.map(({ name, description, defaultText = '', required }) => {
    const line = `${name}=${/[\s<>]/.test(defaultText) ? `"${defaultText}"` : defaultText}`;
    return `# ${required ? 'Required. ' : ''}${description}\n#${line}\n`;
  });
  return [
    '# Settings of Plinth. Written by `npm run describe` from server/src/config.ts. Do not edit.',
    '# Copy this file to .env, then uncomment and change what you need. The values shown are the defaults.',
    '# `plinth keys new` prints lines with the three required keys.',
    '',
    ...entries,
  ].join('\n');
}
