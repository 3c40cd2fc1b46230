// The demo's task list: an app that was built in a chat with the assistant, is published and open for sign-up, and
// has its own workflow and automation.
import type { DemoRequest } from './request.ts';
import { addTaskWork } from './task-workflow.ts';

interface ChatAnswer {
  readonly status: { readonly state: string; readonly message: string };
}

/**
 * Requires a running worker, and a model that can build the app. The sandbox's model plays back this conversation.
 * `receiverUrl` is the sandbox's receiver. If it is undefined, the task list has no workflow and no automation.
 */
export async function buildTaskList(request: DemoRequest, receiverUrl: string | undefined): Promise<void> {
  const { id } = await request<{ id: string }>('POST', '/api/apps', { name: 'Task list' });
  const app = `/api/apps/${id}`;
  // The assistant asks who may create an account.
  for (const content of ['A task list with owners', 'Everybody']) {
    const { status } = await request<ChatAnswer>('POST', `${app}/chat/message`, { content });
    if (status.state !== 'ready') throw new Error(`demo data: the assistant built no app: ${status.message}`);
  }
  await request('POST', `${app}/deploy`);
  if (receiverUrl !== undefined) await addTaskWork(request, app, receiverUrl);
}
