// Programs with a mistake that the compiler must refuse: an @ts-expect-error without an error is one itself.
import { isPlinthError, Plinth } from '../src/index.ts';

declare const id: string;
const plinth = new Plinth({ url: 'https://plinth.example', token: 'plp_00' });

export async function wrong(error: unknown) {
  // @ts-expect-error an operation that does not exist
  await plinth.listApplications();
  // @ts-expect-error a missing argument
  await plinth.getApp();
  // @ts-expect-error a misspelt argument
  await plinth.createApp({ name: 'Shop', visibilty: 'private' });
  // @ts-expect-error a value of another type
  await plinth.listApps({ limit: '50' });
  // @ts-expect-error a value that the field can't have
  await plinth.updateApp({ app_id: id, visibility: 'everybody' });
  // @ts-expect-error a field that the answer does not have
  show((await plinth.getApp({ app_id: id })).title);
  // @ts-expect-error a code that no operation has
  isPlinthError(error, 'slug_is_taken');
  // @ts-expect-error a misspelt member of a problem
  if (isPlinthError(error, 'revision_conflict')) show(error.details.revison);
  const published = await plinth.publishApp({ app_id: id }).result();
  // @ts-expect-error a code that this operation does not answer with
  if (!published.ok && published.error.code === 'slug_taken') show(published.error);
  // @ts-expect-error the data of a call that may have been refused
  show(published.data);
  // @ts-expect-error an operation without a stream
  plinth.getApp({ app_id: id }).stream();
  for await (const { event, data } of plinth.app(id).sendChatMessage({ content: 'Hello' }).stream()) {
    // @ts-expect-error a member of another event
    if (event === 'tool_call') show(data.text);
  }
  // @ts-expect-error an operation that has no app
  await plinth.app(id).listTokens();
  // @ts-expect-error an argument that is bound already
  await plinth.app(id).getAppFile({ app_id: id, path: 'index.html' });
}

declare function show(value: unknown): void;
