// Decides which scanner examines which part of an app.
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import type { Advisories } from '../../gateways/advisories/index.ts';
import type { Outbound } from '../../kit/outbound/outbound.ts';
import type { EvaluatePackages } from './advisories.ts';
import { createCodeScanner } from './code/process.ts';
import { evaluatePackages, type InstalledPackages, scanDependencies } from './dependencies/dependencies.ts';
import { scanHeaders } from './headers/headers.ts';
import type { Scanners } from './perform.ts';
import { createRowRulesScan, type FindOpenRules } from './row-rules/row-rules.ts';

export interface ScannerDeps {
  readonly findOpenRules: FindOpenRules;
  readonly advisories: Advisories;
  readonly outbound: Outbound;
  readonly addresses: AppAddresses;
  readonly baseUrl: string;
}

/** The code scanner's share of the 10 minutes that a scan may take. */
const maxCodeMs = 3 * 60_000;

export function createScanners({
  findOpenRules,
  advisories,
  outbound,
  addresses,
  baseUrl,
}: ScannerDeps): Scanners & { close(): Promise<void> } {
  const code = createCodeScanner();
  return {
    scanRowRules: createRowRulesScan(findOpenRules),
    scanCode: (files, options, signal) => code.scan(files, { ...options, totalMs: maxCodeMs }, signal),
    scanDependencies: (files, isWhole, signal) => scanDependencies({ advisories }, files, isWhole, signal),
    scanHeaders: ({ app }, signal) =>
      scanHeaders(
        { outbound, owner: app.workspace_id, connect: [new URL(baseUrl).origin] },
        addresses.urlOf(app.slug),
        signal,
      ),
    close: code.close,
  };
}

/** The cast is safe, because only `scanDependencies` stores packages. */
export const createEvaluation =
  ({ advisories }: Pick<ScannerDeps, 'advisories'>): EvaluatePackages =>
  (packages, signal) =>
    evaluatePackages({ advisories }, packages as InstalledPackages, signal);
