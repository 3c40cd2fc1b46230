// The drill's environment: the model, Plinth's processes, and a workspace with apps.
import type { Installation } from '../../harness/installation.ts';
import type { Processes } from '../../harness/processes.ts';
import type { Random } from '../../harness/random.ts';
import { type Call, retryingClient } from '../../harness/retrying-client.ts';
import { type ModelCall, startDrillModel } from './model.ts';

export const appsDomain = 'apps.localhost';

export interface DrillApp {
  readonly id: string;
  readonly slug: string;
}

export interface Environment {
  readonly processes: Processes;
  /** Retries until it gets a final response, or until the signal is aborted. */
  readonly createClient: (signal?: AbortSignal) => Call;
  readonly apps: readonly DrillApp[];
  readonly modelCalls: readonly ModelCall[];
}

export async function startEnvironment(
  installation: Installation,
  appCount: number,
  random: Random,
): Promise<Environment> {
  const { model, calls } = await startDrillModel(random);
  installation.ends.defer(model.close);
  const { token } = await installation.createWorkspace();
  const processes = await installation.startProcesses(
    { api: 2, worker: 2 },
    { MODEL_URL: model.url, APPS_DOMAIN: appsDomain },
  );
  const createClient = (signal?: AbortSignal) => retryingClient(processes.apis, token, signal);
  const call = createClient();
  const apps: DrillApp[] = [];
  for (let n = 0; n < appCount; n += 1) apps.push((await call('POST', '/api/apps', { name: `Drill ${n}` })).body);
  return { processes, createClient, apps, modelCalls: calls };
}
