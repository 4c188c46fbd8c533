// What a server keeps, and who waits for it to change.

import { EventEmitter } from 'node:events'

export class Watched extends EventEmitter {
  changed() {
    this.emit('changed')
  }

  // Resolve with what `look` returns as soon as `enough` says so; after `seconds`, with what is there.
  until(look, enough, seconds) {
    return new Promise((resolve) => {
      const check = () => {
        const seen = look()
        if (enough(seen)) finish(seen)
      }
      const finish = (seen) => {
        clearTimeout(timer)
        this.off('changed', check)
        resolve(seen)
      }
      const timer = setTimeout(() => finish(look()), seconds * 1000)
      this.on('changed', check)
      check()
    })
  }
}
