"""Where feedbell tells: one module for each platform, each with a pure payload and a thin sender."""
