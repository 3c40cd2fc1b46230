// `plinth doctor`, which says what is configured, what is missing and what follows from it. It changes nothing, except
// for an object in the storage and a key in Redis that it deletes again.
import { inspectConfig, listSecretTexts, settingText } from '../config.ts';
import { parseArguments } from './arguments.ts';
import { type CheckContext, type PartResult, runChecks } from './doctor/check.ts';
import { createDatabaseChecks } from './doctor/database.ts';
import { tryModel } from './doctor/model.ts';
import { networkChecks } from './doctor/network.ts';
import { programChecks } from './doctor/programs.ts';
import { providerChecks } from './doctor/providers.ts';
import { proxyCheck } from './doctor/proxy.ts';
import { formatJson, formatText, toExitStatus } from './doctor/report.ts';
import { serviceChecks } from './doctor/services.ts';
import { settingChecks } from './doctor/settings.ts';
import { doctorUsage } from './usages.ts';

const flag = { type: 'boolean', default: false } as const;

export async function doctor(args: string[]): Promise<void> {
  const { values } = parseArguments(args, { usage: doctorUsage, options: { json: flag, model: flag } });
  const context = createContext(values.model);
  const checks = [
    ...settingChecks,
    ...createDatabaseChecks(),
    ...serviceChecks,
    ...programChecks,
    ...networkChecks,
    proxyCheck,
    ...providerChecks,
  ];
  const [checked, trial] = await Promise.all([
    runChecks(checks, context),
    values.model ? tryModel(context) : undefined,
  ]);
  const parts: PartResult[] = [...checked, ...(trial?.parts ?? [])];
  const text = values.json ? formatJson(parts, trial) : formatText(parts, trial);
  await new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
  // A check that ran out of time may have left a connection open, which would keep the process running.
  process.exit(toExitStatus(parts));
}

function createContext(isModelTried: boolean): CheckContext {
  // The longest first, because a secret may contain another one.
  const secrets = listSecretTexts().toSorted((one, other) => other.length - one.length);
  return {
    ...inspectConfig(),
    isModelTried,
    isSet: (name) => settingText(name) !== undefined,
    redact: (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text),
  };
}
