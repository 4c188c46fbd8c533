// What bots have said: the requests with a text, found among all requests that came, each of which is looked at once.

// Return a look at the requests so far whose text is `text`; `textOf` reads the text of one, `calls` gives all of them.
export function saying(calls, textOf, text) {
  const found = []
  let looked = 0
  return () => {
    const all = calls()
    for (; looked < all.length; looked += 1) if (textOf(all[looked]) === text) found.push(all[looked])
    return found
  }
}

// Carry out a control once for each of its arguments, in order; return when each began, in ms, and what it returned.
export async function inOrder(carryOut, each) {
  const done = []
  for (const one of each) done.push({ at: Date.now(), result: await carryOut(one) })
  return done
}
