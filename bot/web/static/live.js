// Keeps an open page as it is now. Without it the page is the same, as of when it was loaded.
"use strict";
(() => {
  const main = document.querySelector("main");
  const source = new EventSource("/events?since=" + encodeURIComponent(document.currentScript.dataset.since));
  let isBehind = false;
  let isAsking = false;

  // Nothing moves under the hands of somebody who reads, selects or types.
  const isInUse = () =>
    document.hidden ||
    main.contains(document.activeElement) ||
    !document.getSelection().isCollapsed ||
    main.querySelector("details[open]") !== null;

  // What carries a name and is the same as before stays where it is: a mail's frame would load anew.
  function take(fresh) {
    const kept = new Map();
    for (const one of main.querySelectorAll(":scope > [data-name]")) kept.set(one.dataset.name, one);
    let at = main.firstChild;
    for (const one of [...fresh.childNodes]) {
      const old = one.dataset ? kept.get(one.dataset.name) : undefined;
      if (old === undefined) {
        main.insertBefore(document.adoptNode(one), at);
        continue;
      }
      while (at !== old) {
        const gone = at;
        at = at.nextSibling;
        gone.remove();
      }
      old.querySelector("header time")?.replaceWith(document.adoptNode(one.querySelector("header time")));
      at = old.nextSibling;
    }
    while (at !== null) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  }

  async function refresh() {
    isBehind = true;
    if (isAsking || isInUse()) return;
    isAsking = true;
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (isInUse() || fresh.querySelector("main") === null) return;
      take(fresh.querySelector("main"));
      document.querySelector("footer").replaceChildren(...fresh.querySelector("footer").childNodes);
      document.title = fresh.title;
      isBehind = false;
    } catch {
      // The bot is away; the stream comes back with it, and says what was missed.
    } finally {
      isAsking = false;
    }
  }

  const catchUp = () => {
    if (isBehind) refresh();
  };
  source.onmessage = refresh;
  for (const event of ["visibilitychange", "selectionchange"]) document.addEventListener(event, catchUp);
  main.addEventListener("focusout", () => setTimeout(catchUp));
  main.addEventListener("toggle", catchUp, true);
})();
