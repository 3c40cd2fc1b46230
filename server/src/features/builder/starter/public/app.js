// The app itself: what people see and do once they are signed in. Start here.
//
// Data is kept in entities. Once there is one, say Task:
//
//   import { entities } from '/_plinth/client.js';
//   const { items } = await entities.Task.list({ sort: '-created_date' });
//   await entities.Task.create({ title });
//   await entities.Task.update(id, { done: true });
//   await entities.Task.delete(id);
//
// Which records somebody gets is decided on the server, by the rules of the entity: never rely on this page for it.
//
// Worth keeping:
// - put text that people wrote into the page with textContent, never with innerHTML;
// - give every field a label, use buttons for actions, and keep the focus when a list is drawn again;
// - show each failure with sayError(error): an error has a message for people.
import { startSignIn } from '/sign-in.js';

const heading = document.querySelector('#app-heading');

startSignIn((user) => {
  if (user === null) return; // signed out: forget what belongs to the user who was here
  heading.textContent = user.full_name ? `Welcome, ${user.full_name}` : 'Welcome';
});
