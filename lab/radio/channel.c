// SPDX-License-Identifier: GPL-2.0-only
/* The character device of the medium: events of frames, and commands for them; see channel.h. */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include "radio.h"

#define LAB_EVENTS 16384	/* a power of two, above the frames of all radios in a normal run */
#define LAB_BATCH 64		/* commands copied at a time */

static struct lab_event *lab_ring;
static unsigned int lab_head, lab_tail;
static DEFINE_SPINLOCK(lab_ring_lock);
static DECLARE_WAIT_QUEUE_HEAD(lab_waiting);
static struct hrtimer lab_alarm;
static bool lab_alarm_due;
static unsigned long lab_is_open;

bool lab_channel_is_open(void)
{
	return test_bit(0, &lab_is_open);
}

/* Adds an event without waking the medium; false if the device is not open or the ring is full. */
static bool lab_channel_add(const struct lab_event *event)
{
	unsigned long flags;
	bool room;

	if (!lab_channel_is_open())
		return false;
	spin_lock_irqsave(&lab_ring_lock, flags);
	room = lab_head - lab_tail < LAB_EVENTS;
	if (room)
		lab_ring[lab_head++ & (LAB_EVENTS - 1)] = *event;
	spin_unlock_irqrestore(&lab_ring_lock, flags);
	return room;
}

/* Adds an event; false if the device is not open or the ring is full. */
bool lab_channel_push(const struct lab_event *event)
{
	bool room = lab_channel_add(event);

	if (room)
		wake_up_interruptible(&lab_waiting);
	return room;
}

/* Adds an event that the medium may read later; it wakes at least every 100 ms. */
void lab_channel_note(const struct lab_event *event)
{
	lab_channel_add(event);
}

void lab_announce_edca(struct lab_radio *radio, u8 category, u8 aifsn, u16 cw_min, u16 cw_max, u16 txop)
{
	struct lab_event event = { .kind = LAB_EDCA, .radio = radio->index, .category = category };
	u16 values[4] = { aifsn, cw_min, cw_max, txop };

	memcpy(event.head, values, sizeof(values));
	lab_channel_push(&event);
}

void lab_announce_channel(struct lab_radio *radio)
{
	struct lab_event event = {
		.kind = LAB_TUNED, .radio = radio->index, .at = ktime_get_ns(),
		.length = radio->hw->conf.chandef.chan->center_freq,
	};

	lab_channel_push(&event);
}

static enum hrtimer_restart lab_on_alarm(struct hrtimer *timer)
{
	WRITE_ONCE(lab_alarm_due, true);
	wake_up_interruptible(&lab_waiting);
	return HRTIMER_NORESTART;
}

static int lab_open(struct inode *inode, struct file *file)
{
	if (test_and_set_bit(0, &lab_is_open))
		return -EBUSY;
	lab_announce_all_edca();
	return nonseekable_open(inode, file);
}

static int lab_release(struct inode *inode, struct file *file)
{
	unsigned int index;

	clear_bit(0, &lab_is_open);
	hrtimer_cancel(&lab_alarm);
	spin_lock_irq(&lab_ring_lock);
	lab_tail = lab_head;
	spin_unlock_irq(&lab_ring_lock);
	for (index = 0; index < lab_radio_count; index++)
		lab_drop_held(lab_radios[index]);
	return 0;
}

static ssize_t lab_read(struct file *file, char __user *buffer, size_t size, loff_t *offset)
{
	struct lab_event time = { .kind = LAB_TIME };
	size_t done = sizeof(time);
	int error;

	if (size < 2 * sizeof(struct lab_event))
		return -EINVAL;
	error = wait_event_interruptible(lab_waiting, READ_ONCE(lab_head) != READ_ONCE(lab_tail) ||
						      READ_ONCE(lab_alarm_due));
	if (error)
		return error;
	WRITE_ONCE(lab_alarm_due, false);
	while (done + sizeof(struct lab_event) <= size) {
		struct lab_event event;
		bool any;

		spin_lock_irq(&lab_ring_lock);
		any = lab_head != lab_tail;
		if (any)
			event = lab_ring[lab_tail++ & (LAB_EVENTS - 1)];
		spin_unlock_irq(&lab_ring_lock);
		if (!any)
			break;
		if (copy_to_user(buffer + done, &event, sizeof(event)))
			return -EFAULT;
		done += sizeof(event);
	}
	/* Taken last: no event of this read is later. */
	time.at = ktime_get_ns();
	if (copy_to_user(buffer, &time, sizeof(time)))
		return -EFAULT;
	return done;
}

static void lab_execute(const struct lab_command *command)
{
	switch (command->kind) {
	case LAB_ALARM:
		hrtimer_start(&lab_alarm, ns_to_ktime(command->value), HRTIMER_MODE_ABS);
		break;
	case LAB_DELIVER:
		lab_deliver(command);
		break;
	case LAB_DONE:
		lab_done(command);
		break;
	case LAB_PPDU:
		lab_ppdu(command);
		break;
	case LAB_SURVEY:
		if (command->radio < lab_radio_count) {
			lab_radios[command->radio]->busy_us = command->value;
			lab_radios[command->radio]->own_us = command->cookie;
		}
		break;
	}
}

static ssize_t lab_write(struct file *file, const char __user *buffer, size_t size, loff_t *offset)
{
	struct lab_command *commands;
	size_t done = 0;
	unsigned int index;
	bool completed = false;
	ssize_t result = size;

	if (size % sizeof(struct lab_command))
		return -EINVAL;
	commands = kmalloc_array(LAB_BATCH, sizeof(*commands), GFP_KERNEL);
	if (!commands)
		return -ENOMEM;
	while (done < size) {
		size_t part = min(size - done, LAB_BATCH * sizeof(*commands));

		if (copy_from_user(commands, buffer + done, part)) {
			result = -EFAULT;
			break;
		}
		for (index = 0; index < part / sizeof(*commands); index++) {
			lab_execute(&commands[index]);
			completed |= commands[index].kind == LAB_DONE;
		}
		done += part;
	}
	kfree(commands);
	/* Completions free room in the radio and in the airtime queue limit. */
	for (index = 0; completed && index < lab_radio_count; index++)
		lab_pump(lab_radios[index]);
	return result;
}

static const struct file_operations lab_operations = {
	.owner = THIS_MODULE,
	.open = lab_open,
	.release = lab_release,
	.read = lab_read,
	.write = lab_write,
};

static struct miscdevice lab_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "airbound-radio",
	.mode = 0600,
	.fops = &lab_operations,
};

int lab_channel_register(void)
{
	int error;

	lab_ring = vcalloc(LAB_EVENTS, sizeof(*lab_ring));
	if (!lab_ring)
		return -ENOMEM;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(&lab_alarm, lab_on_alarm, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(&lab_alarm, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	lab_alarm.function = lab_on_alarm;
#endif
	error = misc_register(&lab_device);
	if (error)
		vfree(lab_ring);
	return error;
}

void lab_channel_unregister(void)
{
	misc_deregister(&lab_device);
	hrtimer_cancel(&lab_alarm);
	vfree(lab_ring);
}
