// Checks the settings themselves, without using anything that they point to.
import { type Config, keyNames, listMisspelledSettings, listSettings, listUnknownSettings } from '../../config.ts';
import { listEnvFileNames } from '../env-file.ts';
import { broken, type Check, type CheckContext, type CheckResult, missing, works } from './check.ts';

const isKey = (name: string | undefined): boolean => keyNames.some((each) => each === name);

const settings: Check = {
  part: 'settings',
  async run({ faults, isSet }) {
    const others = faults.filter(({ name }) => !isKey(name));
    const invalid = others.map(({ message }) => message);
    const unused = [
      ...listMisspelledSettings().map(({ name, known }) => `${name} has no effect. Did you mean ${known}?`),
      ...listUnknownSettings(listEnvFileNames()).map(
        (name) => `${name} is not a setting and has no effect. Remove it.`,
      ),
    ];
    const found = [...invalid, ...unused];
    if (others.some(({ kind }) => kind === 'missing')) return missing(found.map(endSentence).join(' '));
    if (found.length > 0) return broken(found.map(endSentence).join(' '));
    const count = listSettings().filter(({ name }) => isSet(name as keyof Config)).length;
    return works(`${count} of ${listSettings().length} are set, and all of them are valid.`);
  },
};

const keys: Check = {
  part: 'keys',
  async run(context) {
    const { faults } = context;
    const absent = keyNames.filter((key) => faults.some(({ name, kind }) => name === key && kind === 'missing'));
    if (absent.length === keyNames.length)
      return missing(
        'There are no keys, and no process starts without them. Create them with: npm run -s plinth -- keys new >> .env',
      );
    if (absent.length > 0)
      return missing(
        `${absent.join(' and ')} must be set. "npm run -s plinth -- keys new" prints new keys: add only what is absent, and keep the others.`,
      );
    const invalid = faults.filter(({ name }) => isKey(name)).map(({ message }) => message);
    if (invalid.length > 0) return broken(`${invalid.join('. ')}. Restore the keys from your copy of them.`);
    return checkIds(context);
  },
};

/** The first of two keys with the same id would be used for what the second protects. */
function checkIds({ config }: CheckContext): CheckResult {
  const { TOKEN_PEPPERS, MASTER_KEYS } = config as Config; // both are valid, as was checked before
  const repeated = Object.entries({ TOKEN_PEPPERS, MASTER_KEYS }).filter(
    ([, keys]) => new Set(keys.map(({ id }) => id)).size < keys.length,
  );
  if (repeated.length > 0)
    return broken(
      `Two keys in ${repeated.map(([name]) => name).join(' and in ')} have the same id. Give each key an id of its own: docs/operate/configure.md#rotate-keys.`,
    );
  return works(`All three are valid; ${TOKEN_PEPPERS.length} in TOKEN_PEPPERS, ${MASTER_KEYS.length} in MASTER_KEYS.`);
}

const endSentence = (text: string): string => (/[.?!]$/.test(text) ? text : `${text}.`);

export const settingChecks: readonly Check[] = [settings, keys];
