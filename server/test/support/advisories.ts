// An advisory database for tests, and a client for it.
import { type AdvisoriesSandbox, type OsvRecord, startAdvisories } from '../../../sandbox/src/advisories/server.ts';
import { Advisory } from '../../src/gateways/advisories/advisory.ts';
import { type Advisories, openAdvisories } from '../../src/gateways/advisories/index.ts';

export type { OsvRecord };

export interface AdvisoryDatabase {
  readonly sandbox: AdvisoriesSandbox;
  readonly advisories: Advisories;
  close(): Promise<void>;
}

export async function startAdvisoryDatabase(): Promise<AdvisoryDatabase> {
  const sandbox = await startAdvisories({ records: [] });
  const advisories = openAdvisories({ url: sandbox.url });
  return {
    sandbox,
    advisories,
    async close() {
      await advisories.close();
      await sandbox.close();
    },
  };
}

/** The client for an installation without `ADVISORIES_URL`. */
export const noAdvisories = (): Advisories => openAdvisories({ url: undefined });

export const parseAdvisory = (record: OsvRecord): Advisory => Advisory.parse(record);
