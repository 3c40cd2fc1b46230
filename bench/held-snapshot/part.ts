// What each part of the measurement does: add work, do it with the product's own functions, and complete work of others.
import type pg from 'pg';
import type { Db } from '../../server/src/tables.ts';

export interface Services {
  /** Used only by the product's functions. */
  readonly db: Db;
  /** Used by everything else. */
  readonly pool: pg.Pool;
}

export interface Opened {
  /** How many rows `add` adds, and `work` must handle. */
  readonly added: number;
  add(): Promise<unknown>;
  /** The measured call. Returns how many rows it handled. */
  work(): Promise<number>;
  /** Completes what `work` has claimed, outside of the measured time. */
  finish(): Promise<unknown>;
  /** Adds and completes rows as other processes do. */
  complete(count: number): Promise<unknown>;
}

/** The first owners of rows, from 1. */
export const ownerOf = (number: number): string => `00000000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;
