// The fields of a recommendation about one of a published app's headers.
import type { Severity } from '../finding.ts';

export const headerFlags = [
  'csp',
  'hsts',
  'frame_options',
  'content_type_options',
  'referrer_policy',
  'permissions_policy',
] as const;
export type HeaderFlag = (typeof headerFlags)[number];

export interface HeaderItem {
  readonly flag: HeaderFlag;
  readonly header_name: string;
  readonly severity: Severity;
  readonly title: string;
  readonly description: string;
  /** Null if the header is not sent. */
  readonly current_value: string | null;
  readonly recommended_value: string;
}
