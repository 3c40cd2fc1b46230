// An agent's reply to a single message from a workflow. The reply uses the agent's instructions and global
// memories, but no conversation. The caller reserves and charges the credits.
import { toTokens, toValidUsage } from '../../core/turns/messages.ts';
import type { LanguageModel } from '../../gateways/language-model/index.ts';
import { toStorableText } from '../../kit/text.ts';
import type { Db } from '../../tables.ts';
import { buildInstructions } from './background.ts';
import { computeCredits, estimatedReplyTokens } from './conversation.ts';
import { type AgentKey, findUsableAgent } from './store/agents.ts';
import { listSharedMemories } from './store/memories.ts';

interface Question {
  readonly model: string | null;
  readonly instructions: string;
}

/** Returns undefined if the agent does not exist or the app may not use it. */
async function readQuestion(db: Db, key: AgentKey): Promise<Question | undefined> {
  const agent = await findUsableAgent(db, key);
  if (agent === undefined) return undefined;
  return { model: agent.model, instructions: buildInstructions(agent, await listSharedMemories(db, key)) };
}

export const createSingleReplies = (model: LanguageModel) => ({
  /** Returns how many credits to reserve before requesting the reply. */
  async estimate(db: Db, key: AgentKey, content: string): Promise<number | undefined> {
    const question = await readQuestion(db, key);
    return question && computeCredits(toTokens(question.instructions.length + content.length) + estimatedReplyTokens);
  },
  async reply(db: Db, key: AgentKey, content: string, signal: AbortSignal) {
    const question = await readQuestion(db, key);
    if (question === undefined) return undefined;
    const messages = [{ role: 'user', content }] as const;
    const answer = await model.reply({ ...question, messages, tools: [], signal }, () => {});
    if (answer.outcome === 'unavailable') return { unavailable: answer.reason };
    const usage = toValidUsage(answer.usage);
    const tokens =
      usage === null
        ? toTokens(question.instructions.length + content.length + answer.content.length)
        : usage.prompt_tokens + usage.completion_tokens;
    return { content: toStorableText(answer.content), credits: computeCredits(tokens) };
  },
});
