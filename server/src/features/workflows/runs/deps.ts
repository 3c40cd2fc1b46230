// Owns what runs use from outside.

import type { Publish } from '../../../events.ts';
import type { Mail } from '../../../gateways/mail/index.ts';
import type { WakeUps } from '../../../kit/background/workers/wake.ts';
import type { Clock } from '../../../kit/clock.ts';
import type { Outbound } from '../../../kit/outbound/outbound.ts';
import type { Secrets } from '../../../kit/secrets.ts';
import type { Db } from '../../../tables.ts';
import type { Definition } from '../definition/model.ts';

export interface RunDeps {
  readonly jq: {
    evaluate(
      filters: readonly string[],
      data: {
        readonly input: unknown;
        readonly variables: Record<string, unknown>;
        readonly owner?: string;
        readonly secrets?: readonly string[];
      },
      signal?: AbortSignal,
    ): Promise<
      | { readonly values: unknown[] }
      | { readonly error: string; readonly kind: 'failed' | 'timeout' | 'memory' | 'busy' | 'too_large' }
    >;
  };
  readonly outbound: Outbound;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly wake: Pick<WakeUps, 'notify' | 'listen' | 'pollMs'>;
  readonly publish: Publish;
  readonly mail: Mail;
  /** The values of those of these secrets of an app that exist, by name. */
  readonly readSecrets: (
    db: Db,
    app: { readonly id: string },
    names: readonly string[],
  ) => Promise<Map<string, string>>;
  readonly parseStored: (source: unknown) => Definition;
}
