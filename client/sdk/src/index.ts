// The entry point of @plinth/client.
export type { Answer, Call, CallOptions, Formats, PagedCall, Result, StreamedCall } from './call.ts';
export { Plinth, type PlinthApp, type PlinthOptions } from './client.ts';
export type { CreateManyOptions, Entities, Entity } from './entities.ts';
export {
  type Code,
  type Details,
  type Fault,
  isPlinthError,
  type OwnCode,
  PlinthError,
  type Progress,
  type Refusal,
} from './errors.ts';
export type { AgentOperations, AppOperations, Operations } from './generated/operations.ts';
export type * from './generated/schemas.ts';
export { apiVersion, testedWith } from './generated/table.ts';
export type { Notes, OnNotes } from './notes.ts';
export type { Attempt } from './send.ts';
