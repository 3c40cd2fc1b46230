// The values that tests, drills and commands pass to createApp in addition to the configuration.
import type { Route } from '../core/auth/route.ts';
import type { StreamLimits } from '../core/streams/streams.ts';
import type { AdsTimes } from '../features/ads/index.ts';
import type { TestTimes } from '../features/browser-tests/index.ts';
import type { Boundary, WorkLimits } from '../features/coding-sessions/index.ts';
import type { AdPlatformSettings } from '../gateways/ad-platform/index.ts';
import type { Clock } from '../kit/clock.ts';
import type { Migration } from '../kit/db/migrate.ts';
import type { Log } from '../kit/log.ts';
import type { OutboundOptions } from '../kit/outbound/outbound.ts';

export interface AppDeps {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly migrations: readonly Migration[];
  /** The folder of the built console. Processes that do not serve it have none. */
  readonly consoleFolder?: string | undefined;
  /** The PostgreSQL connections' `application_name`. */
  readonly sessionName?: string;
  readonly onStatement?: (text: string) => void;
  /** The DNS resolver and additional certificate authorities for outgoing requests. Set by tests. */
  readonly outbound?: Pick<OutboundOptions, 'dns' | 'extraCa'>;
  /** How long calls to the ad platform may take. Set by tests. */
  readonly adPlatform?: Pick<AdPlatformSettings, 'changeTimeoutMs' | 'readTimeoutMs'>;
  /** How long to wait between polls for conversion tags. Set by tests. */
  readonly tagPauseMs?: number;
  /** How long generateAssets waits for images. Set by tests. */
  readonly assetWaitMs?: number;
  /** Overrides for advertising's waiting times. Set by tests and drills. */
  readonly adsTimes?: Partial<AdsTimes>;
  /** Overrides for browser tests' waiting times. Set by tests and drills. */
  readonly testTimes?: Partial<TestTimes>;
  /** Overrides for coding sessions' limits. Set by tests and drills. */
  readonly sessionLimits?: Partial<WorkLimits>;
  /** Called at each point of a coding session where a drill may kill the worker. Set by tests and drills. */
  readonly onSessionBoundary?: (name: Boundary, sessionId: string) => Promise<void> | void;
  /** Whether the database and the keys were checked. `/readyz` says that the process is not ready until then. */
  readonly isStartChecked?: () => boolean;
  /** Overrides for the limits of open streams. Set by tests. */
  readonly streamLimits?: Partial<StreamLimits>;
  /** How long the browser may spend on a page. Set by tests. */
  readonly pageMs?: number;
  /** Replaces the routes before they are served. Tests use it to run the guards without the handlers. */
  readonly routes?: (routes: Route[]) => Route[];
}
