// Agents' memories, which are global or about one user. The model changes memories with tools. Users can read
// them, and can delete those about themselves (docs/api/agents.md#memories).
import { z } from 'zod';
import { roleRequired } from '../../core/auth/guards/workspace.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { Tool } from '../../gateways/language-model/index.ts';
import { newId } from '../../kit/ids.ts';
import { toStorableText } from '../../kit/text.ts';
import type { Db } from '../../tables.ts';
import type { ConversationRow, MemoryRow } from './contract.ts';
import { insertMemories, removeMemories } from './store/memories.ts';

const maxMemories = 50; // all of them are sent to the model with every message

export async function deleteMemory(db: Db, { app, memory }: AppAccess & { memory: MemoryRow }) {
  if (memory.user_id === null) throw roleRequired('owner');
  await removeMemories(db, app.workspace_id, [memory.id]);
  return { success: true } as const;
}

export interface MemoryTools {
  readonly tools: readonly Tool[];
  /** Writes the changes. Called when the reply is stored, so a failed reply changes no memories. */
  save(db: Db, now: Date): Promise<void>;
}

/** Creates the tools that the model uses to change memories during one turn. */
export function createMemoryTools(
  conversation: ConversationRow,
  existing: readonly MemoryRow[],
  maySaveGlobal: boolean,
): MemoryTools {
  const current = new Map(existing.map((memory) => [memory.id, memory]));
  const { workspace_id, app_id } = conversation;

  const remember = async (input: { content: string; for_everyone?: boolean }) => {
    const { for_everyone = false } = input;
    const content = toStorableText(input.content).trim(); // a model may send characters that can't be stored
    if (content === '') throw new Error('The content is empty.');
    const user_id = for_everyone && maySaveGlobal ? null : conversation.user_id;
    const ofSameKind = [...current.values()].filter((memory) => memory.user_id === user_id);
    if (ofSameKind.length >= maxMemories) throw new Error('The memory limit has been reached. Forget a memory first.');
    const memory = { workspace_id, app_id, id: newId(), user_id, content, created_date: conversation.created_date };
    current.set(memory.id, memory);
    return `Remembered with the id ${memory.id}.`;
  };
  const forget = async ({ memory_id }: { memory_id: string }) => {
    const memory = current.get(memory_id);
    if (memory === undefined || (memory.user_id === null && !maySaveGlobal))
      throw new Error('This memory does not exist.');
    current.delete(memory_id);
    return 'Forgotten.';
  };

  const content = z.string().trim().min(1).max(500);
  const globalOption = maySaveGlobal ? { for_everyone: z.boolean().optional() } : {};
  return {
    tools: [
      {
        name: 'remember',
        description: maySaveGlobal
          ? 'Saves a fact for later conversations with this person, or with everyone'
          : 'Saves a fact for later conversations with this person',
        parameters: z.object({ content, ...globalOption }),
        run: remember,
      },
      {
        name: 'forget',
        description: 'Deletes the memory with this id',
        parameters: z.object({ memory_id: z.string() }),
        run: forget,
      },
    ],
    async save(db, now) {
      const existingIds = new Set(existing.map((memory) => memory.id));
      const added = [...current.values()].filter((memory) => !existingIds.has(memory.id));
      await insertMemories(
        db,
        added.map((memory) => ({ ...memory, created_date: now })),
      );
      const removed = existing.filter((memory) => !current.has(memory.id)).map((memory) => memory.id);
      await removeMemories(db, workspace_id, removed);
    },
  };
}
