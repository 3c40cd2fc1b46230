// Gets the passphrase for a copy of the keys: from the setting, or else from the terminal, which does not show it.
import { ConfigError, inspectConfig } from '../../config.ts';

const setting = 'PLINTH_KEYS_PASSPHRASE';

/** Asks twice for a new passphrase. */
export async function readPassphrase({ isNew }: { readonly isNew: boolean }): Promise<string> {
  const { config, faults } = inspectConfig();
  const fault = faults.find(({ name }) => name === setting);
  if (fault !== undefined) throw new ConfigError(fault.message);
  if (config[setting] !== undefined) return config[setting];
  const passphrase = await ask('Passphrase for the copy of the keys: ');
  if (isNew && (await ask('The same passphrase again: ')) !== passphrase)
    throw new ConfigError('The two passphrases differ. No keys were written.');
  return passphrase;
}

const [endOfText, endOfTransmission, backspace, deletion] = ['\u0003', '\u0004', '\b', '\u007f'];

function ask(question: string): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY)
    throw new ConfigError(
      `There is no terminal to ask for the passphrase. Write it to a file that only this user can read, and name the file in ${setting}_FILE.`,
    );
  stdin.setRawMode(true); // before the question, because the answer may follow at once
  stdin.setEncoding('utf8').resume();
  stderr.write(question);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let typed = '';
  const onData = (text: string) => {
    for (const character of text) {
      if (character === '\r' || character === '\n') return resolve(typed);
      if (character === endOfText || character === endOfTransmission)
        return reject(new ConfigError('No passphrase was entered.'));
      typed = character === backspace || character === deletion ? typed.slice(0, -1) : typed + character;
    }
  };
  stdin.on('data', onData);
  return promise.finally(() => {
    stdin.off('data', onData);
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  });
}
