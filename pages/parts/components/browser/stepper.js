// A slider over states that are all in the browser, with Play; put before the scripts that have one. show(k): draws a
// state; settle(): where the slider was let go, or Play has come to its end.
class Stepper {
  constructor(slider, button, stepMs, show, settle = () => {}) {
    Object.assign(this, { slider, button, stepMs, show, settle, playing: null });
    slider.addEventListener("input", () => {
      this.pause();
      show(Number(slider.value));
    });
    slider.addEventListener("change", () => settle());
    button.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
  }

  play() {
    if (Number(this.slider.value) === Number(this.slider.max)) this.show(0);
    this.button.textContent = "❚❚ Pause";
    const step = () => {
      const last = Number(this.slider.max); // others may have come meanwhile
      const next = Number(this.slider.value) + 1;
      this.show(Math.min(next, last));
      this.playing = next < last ? setTimeout(step, this.stepMs) : null;
      if (this.playing) return;
      this.pause();
      this.settle();
    };
    this.playing = setTimeout(step, this.stepMs);
  }

  pause() {
    clearTimeout(this.playing);
    this.playing = null;
    this.button.textContent = "▶ Play";
  }
}
