// Tests what people are told about how they get into an app.
import { expect, it } from 'vitest';
import { findWayIn } from './way-in.ts';

const email = 'ann@customers.example';
const app = { published: { url: 'https://club.example' } };
const settings = {
  sign_up_in_effect: 'invited',
  methods: { password: true, link: true },
  link_origin: 'https://club.example',
} as const;
const linkOnly = { ...settings, methods: { password: false, link: true } };
const passwordOnly = { ...settings, methods: { password: true, link: false } };

it('tells a new person to create an account, or to ask for a link if there is no password to choose', () => {
  const person = { email, isNew: true };
  expect(findWayIn(app, person, settings, true)).toEqual({
    text: `Open https://club.example
Press “Create an account”, and enter the address ${email} and a password of your choice.
Open the link in the mail that you get.`,
  });
  expect(findWayIn(app, person, linkOnly, true)).toEqual({
    text: `Open https://club.example
Press “Sign in with an e-mail link”, and enter the address ${email}.
Open the link in the mail that you get.`,
  });
});

it('tells others how they get in with a password and without one, and never to create an account', () => {
  const person = { email, isNew: false };
  expect(findWayIn(app, person, passwordOnly, true)).toEqual({
    text: `Open https://club.example
If you have a password, enter the address ${email} and the password, and press “Sign in”.
If not, press “Set a new password by e-mail”, enter the address ${email}, and open the link in the mail that you get.`,
  });
  expect(findWayIn(app, person, linkOnly, true)).toEqual({
    text: `Open https://club.example
Press “Sign in with an e-mail link”, and enter the address ${email}.
Open the link in the mail that you get.`,
  });
});

it("says of nobody who may have a password that they can't get in without a mail", () => {
  const noMail = (isNew: boolean, methods: typeof linkOnly.methods) =>
    findWayIn(app, { email, isNew }, { ...settings, methods }, false);
  const known = /^Unless they have a password already, they can’t get in yet/;
  expect(noMail(false, settings.methods)).toEqual({ obstacle: expect.stringMatching(known) });
  const unknown = { obstacle: expect.stringMatching(/^They can’t get in yet/) };
  expect([noMail(true, settings.methods), noMail(false, linkOnly.methods)]).toEqual([unknown, unknown]);
});
