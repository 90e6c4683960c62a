/* SPDX-License-Identifier: MIT */
/*
 * A page without a script: text, tables, and plots as drawings in the page (SVG).  Everything is
 * written as it is drawn.  The same calls write the same bytes.
 */
#ifndef USHER_LAB_PAGE_H
#define USHER_LAB_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct page {
    FILE *out;
    unsigned plots; /* so far: a plot has a number */
};

/* @text as text of the page; bytes that are not text are written as by usher__plain_text(). */
void usher__page_text(FILE *out, const char *text);

/* The beginning of a page, with @title and the style, and its end. */
void usher__page_begin(struct page *p, FILE *out, const char *title);
void usher__page_end(struct page *p);

/* Texts of numbers. */
#define PAGE_NUMBER 40
const char *usher__page_count(char to[PAGE_NUMBER], uint64_t n);                /* 33 066 */
const char *usher__page_share(char to[PAGE_NUMBER], double part, double whole); /* 89.0, or – */
const char *usher__page_span(char to[PAGE_NUMBER], int64_t ms); /* 1:05, 2 h 05; – if below 0 */

/* A table: its heads and cells are separated by tabs; the first cell of a row is its name. */
void usher__page_table(struct page *p, const char *caption, const char *heads);
void usher__page_row(struct page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void usher__page_table_end(struct page *p);

/* A plot, with the values at the edges of its field. */
struct plot {
    double w, h;
    double x0, x1, y0, y1;
    double left, bottom, top, right; /* margins; 0: 46, 30, 14, 16 */
};

/* @title and @desc are read to those that do not see it. */
void usher__plot_begin(struct page *p, struct plot *plot, const char *title, const char *desc);
void usher__plot_end(struct page *p);
double usher__plot_x(const struct plot *plot, double x);
double usher__plot_y(const struct plot *plot, double y);
/* A mark with a label at the axis; of y with a line through the field. */
void usher__plot_tick_x(struct page *p, const struct plot *plot, double x, const char *label);
void usher__plot_tick_y(struct page *p, const struct plot *plot, double y, const char *label);
/* Marks of y from 0 on, at round values. */
void usher__plot_ticks_y(struct page *p, const struct plot *plot, const char *unit);
/* The axis of x and what both mean; "": nothing. */
void usher__plot_axes(struct page *p, const struct plot *plot, const char *x, const char *y);
void usher__plot_line(struct page *p, const struct plot *plot, const char *class, const double *x,
                      const double *y, size_t n);
/* Values from @x0 on, each @dx wide; @area NULL: no area below. */
void usher__plot_steps(struct page *p, const struct plot *plot, const char *class, const char *area,
                       const double *y, size_t n, double x0, double dx);
/* Text at a point, moved by (dx, dy). */
void usher__plot_text(struct page *p, const struct plot *plot, double x, double y, double dx,
                      double dy, const char *class, const char *text);

/* A round number not below @value. */
double usher__plot_round(double value);

#endif
