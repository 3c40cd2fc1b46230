// Owns what agents remember: of each person, and for everybody. The model writes memories by tools; a person reads them,
// and deletes their own (docs/contract.md §4.1).
import { z } from 'zod';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { roleRequired } from '../../core/auth/resource-guards.ts';
import type { Tool } from '../../gateways/language-model/index.ts';
import { newId } from '../../kit/ids.ts';
import { toStorableText } from '../../kit/text.ts';
import type { Db } from '../../tables.ts';
import type { ConversationRow, MemoryRow } from './contract.ts';
import { insertMemories, removeMemories } from './store.ts';

const maxEach = 50; // all of them are told to the model at every turn

export async function deleteMemory(db: Db, { app, memory }: AppAccess & { memory: MemoryRow }) {
  if (memory.user_id === null) throw roleRequired('owner');
  await removeMemories(db, app.workspace_id, [memory.id]);
  return { success: true } as const;
}

export interface Notebook {
  readonly tools: readonly Tool[];
  /** Writes what changed. Nothing is written before: a reply that fails has taught nothing, one run again teaches once. */
  save(db: Db, now: Date): Promise<void>;
}

/** The memories of one turn, as the model may change them. `mayTeach`: also those for everybody. */
export function openNotebook(conversation: ConversationRow, known: readonly MemoryRow[], mayTeach: boolean): Notebook {
  const kept = new Map(known.map((memory) => [memory.id, memory]));
  const { workspace_id, app_id } = conversation;

  const remember = async (told: { content: string; for_everyone?: boolean }) => {
    const { for_everyone = false } = told;
    const content = toStorableText(told.content).trim(); // a model may say what no text can hold
    if (content === '') throw new Error('There is nothing to remember.');
    const user_id = for_everyone && mayTeach ? null : conversation.user_id;
    const alike = [...kept.values()].filter((memory) => memory.user_id === user_id);
    if (alike.length >= maxEach) throw new Error('Nothing more can be remembered; forget something first.');
    const memory = { workspace_id, app_id, id: newId(), user_id, content, created_date: conversation.created_date };
    kept.set(memory.id, memory);
    return `Remembered, as ${memory.id}.`;
  };
  const forget = async ({ memory_id }: { memory_id: string }) => {
    const memory = kept.get(memory_id);
    if (memory === undefined || (memory.user_id === null && !mayTeach)) throw new Error('There is no such memory.');
    kept.delete(memory_id);
    return 'Forgotten.';
  };

  const content = z.string().trim().min(1).max(500);
  const teaching = mayTeach ? { for_everyone: z.boolean().optional() } : {};
  return {
    tools: [
      {
        name: 'remember',
        description: mayTeach
          ? 'Keeps a fact for later conversations with this person, or with everybody'
          : 'Keeps a fact for later conversations with this person',
        parameters: z.object({ content, ...teaching }),
        run: remember,
      },
      {
        name: 'forget',
        description: 'Forgets what was remembered under an id',
        parameters: z.object({ memory_id: z.string() }),
        run: forget,
      },
    ],
    async save(db, now) {
      const had = new Set(known.map((memory) => memory.id));
      const added = [...kept.values()].filter((memory) => !had.has(memory.id));
      await insertMemories(
        db,
        added.map((memory) => ({ ...memory, created_date: now })),
      );
      const gone = known.filter((memory) => !kept.has(memory.id)).map((memory) => memory.id);
      await removeMemories(db, workspace_id, gone);
    },
  };
}
