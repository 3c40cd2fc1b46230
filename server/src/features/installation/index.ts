// The door of the installation's own operations. What it says is handed in, so it can only say what is known.
import { installationRoutes } from './routes.ts';

export interface Installation {
  checks(): Promise<{
    database: 'ok' | 'unreachable';
    migrations: 'ok' | 'pending' | 'unknown';
    redis: 'ok' | 'unreachable';
    draining: boolean;
    queue_lag_seconds: number | null;
    worker_heartbeat: string | null;
  }>;
  metrics(): Promise<string>;
  readonly metricsToken: string | undefined;
  description(): object;
  info(): {
    name: 'Plinth';
    version: string;
    api_version: string;
    beta: true;
    features: { ads: boolean; model: boolean; git: boolean; browser: boolean; mail: boolean };
  };
}

export const installation = (of: Installation) => ({ routes: installationRoutes(of) });
