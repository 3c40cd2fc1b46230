// The list of tables in a workspace archive, collected from all features, and importing an archive.
import { agentArchiveTables } from '../features/agents/index.ts';
import { appUserArchiveTables } from '../features/app-users/index.ts';
import { appArchiveTables } from '../features/apps/index.ts';
import { auditArchiveTables } from '../features/audit/index.ts';
import { automationArchiveTables } from '../features/automations/index.ts';
import { browserTestArchiveTables } from '../features/browser-tests/index.ts';
import { builderArchiveTables } from '../features/builder/index.ts';
import { connectorArchiveTables } from '../features/connectors/index.ts';
import { creditArchiveTables } from '../features/credits/index.ts';
import { entityArchiveTables } from '../features/entities/index.ts';
import { folderArchiveTables } from '../features/folders/index.ts';
import { memberArchiveTables } from '../features/members/index.ts';
import { publishingArchiveTables } from '../features/publishing/index.ts';
import { securityArchiveTables } from '../features/security/index.ts';
import { webhookArchiveTables } from '../features/webhooks/index.ts';
import { workflowArchiveTables } from '../features/workflows/index.ts';
import {
  type ArchiveTables,
  type ImportOptions,
  importWorkspace as importArchive,
  workspaceArchiveTables,
} from '../features/workspaces/index.ts';
import type { Db } from '../tables.ts';

/**
 * Lists the tables that an archive may contain. The list is created for each import, because some tables keep state
 * during an import.
 */
export const createArchiveTables = (): ArchiveTables => ({
  ...workspaceArchiveTables,
  ...memberArchiveTables,
  ...appArchiveTables,
  ...publishingArchiveTables,
  ...securityArchiveTables,
  ...browserTestArchiveTables,
  ...appUserArchiveTables,
  ...entityArchiveTables,
  ...folderArchiveTables,
  ...agentArchiveTables,
  ...builderArchiveTables,
  ...webhookArchiveTables,
  ...automationArchiveTables,
  ...workflowArchiveTables(),
  ...connectorArchiveTables,
  ...creditArchiveTables,
  ...auditArchiveTables(),
});

export const importWorkspace = (db: Db, file: string, options: ImportOptions, now: Date) =>
  importArchive(db, file, createArchiveTables(), options, now);
